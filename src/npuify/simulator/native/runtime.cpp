// What PyTorch asks of a device: the current device, streams and events, random generators, pinned memory. Operators run at
// once on the host, so a stream is a number and an event is a moment.
#include "device.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/EmptyTensor.h>
#include <ATen/core/Generator.h>
#if NPUIFY_TORCH < 207
#include <ATen/core/GeneratorForPrivateuseone.h>
#endif
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/Stream.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/util/Exception.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

namespace npuify {

void resize_bytes(c10::StorageImpl* storage, size_t bytes, int device);

namespace {

int machine = 1; // NPUs of the simulated machine
int (*visible)() = nullptr; // how many of them the environment lets this process see
std::atomic<int> settled{-1}; // that number, from the first use of a device on
bool shared_random = false;
std::atomic<bool> initialized{false};
thread_local int current = 0;
thread_local std::array<int64_t, kMostDevices> streams{};
std::atomic<int64_t> next_stream{1};

// As on a real one, a program may choose its devices until it uses the first.
int devices() noexcept {
  int known = settled;
  if (known >= 0) {
    return known;
  }
  bool used = initialized;
  int count = visible == nullptr ? machine : visible();
  if (used) {
    settled = count;
  }
  return count;
}

void check(int device) {
  int count = devices();
  TORCH_CHECK(
      device >= 0 && device < count, "Invalid device ID ", device, ": ",
      count < machine ? "ASCEND_RT_VISIBLE_DEVICES shows " : "the simulated machine has ", count,
      count == 1 ? " NPU" : " NPUs", count < machine ? "" : " (npuify simulate --devices)");
}

// ---- generators -----------------------------------------------------------------------------------------------------

// As the real one's, its state is a seed and an offset, eight bytes each: what an operator draws follows from both, and the
// offset grows with each. PyTorch's own tools (DTensor's) read and write them.
struct NpuGenerator final : c10::GeneratorImpl {
  uint64_t seed_ = c10::default_rng_seed_val;
  uint64_t offset_ = 0;
  c10::intrusive_ptr<at::CPUGeneratorImpl> host;

  explicit NpuGenerator(int device)
      : c10::GeneratorImpl(c10::Device(kNpu, c10::DeviceIndex(device)), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)),
        host(c10::make_intrusive<at::CPUGeneratorImpl>()) {}
  // The CPU's generator, ready for the next operator.
  c10::intrusive_ptr<at::CPUGeneratorImpl> next() {
    std::lock_guard<std::mutex> lock(mutex_);
    uint64_t x = seed_ ^ (offset_ * 0x9e3779b97f4a7c15ull); // splitmix64
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    host->set_current_seed(x ^ (x >> 31));
    offset_ += 4; // one draw of four numbers, the least that the real one's Philox makes
    return host;
  }
  void set_current_seed(uint64_t seed) override {
    seed_ = seed;
    offset_ = 0;
  }
  // "override" is left out: the first releases do not know these two.
  void set_offset(uint64_t offset) {
    offset_ = offset;
  }
  uint64_t get_offset() const {
    return offset_;
  }
  uint64_t current_seed() const override {
    return seed_;
  }
  uint64_t seed() override {
    set_current_seed(c10::detail::getNonDeterministicRandom(true));
    return seed_;
  }
  void set_state(const c10::TensorImpl& state) override {
    TORCH_CHECK(state.numel() == 16 && state.dtype() == caffe2::TypeMeta::Make<uint8_t>(), "RNG state is wrong size (simulated by npuify)");
    auto* bytes = static_cast<const char*>(state.data());
    std::memcpy(&seed_, bytes, 8);
    std::memcpy(&offset_, bytes + 8, 8);
  }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    auto state = at::detail::empty_cpu({16}, at::kByte);
    auto* bytes = static_cast<char*>(state.unsafeGetTensorImpl()->mutable_data());
    std::memcpy(bytes, &seed_, 8);
    std::memcpy(bytes + 8, &offset_, 8);
    return state.getIntrusivePtr();
  }
  NpuGenerator* clone_impl() const override {
    auto* copy = new NpuGenerator(device_.index());
    copy->seed_ = seed_;
    copy->offset_ = offset_;
    return copy;
  }
};

#if NPUIFY_TORCH < 207
// Later releases ask the hooks; up to 2.6 torch.Generator(device) asks the function that was left here.
at::Generator new_generator(c10::DeviceIndex device) {
  return at::make_generator<NpuGenerator>(device);
}
at::_GeneratorRegister registered_generator(new_generator);
#endif

std::vector<at::Generator>& default_generators() {
  static std::vector<at::Generator>* all = [] {
    auto* made = new std::vector<at::Generator>();
    for (int i = 0; i < machine; i++) {
      made->push_back(at::make_generator<NpuGenerator>(i));
    }
    return made;
  }();
  return *all;
}

// ---- pinned memory --------------------------------------------------------------------------------------------------

std::mutex pinned_mutex;
std::map<const char*, size_t> pinned;

struct PinnedAllocator final : c10::Allocator {
#if NPUIFY_TORCH >= 203
  c10::DataPtr allocate(size_t bytes) override {
    return make(bytes);
  }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }
#else
  c10::DataPtr allocate(size_t bytes) const override {
    return make(bytes);
  }
#endif
  static c10::DataPtr make(size_t bytes) {
    auto* held = new c10::DataPtr(c10::GetCPUAllocator()->allocate(bytes));
    void* data = held->get();
    if (data != nullptr) {
      std::lock_guard<std::mutex> lock(pinned_mutex);
      pinned[static_cast<const char*>(data)] = bytes;
    }
    return {data, held, &drop, c10::Device(c10::DeviceType::CPU)};
  }
  static void drop(void* context) {
    auto* held = static_cast<c10::DataPtr*>(context);
    {
      std::lock_guard<std::mutex> lock(pinned_mutex);
      pinned.erase(static_cast<const char*>(held->get()));
    }
    delete held;
  }
};

PinnedAllocator pins;

// ---- hooks ----------------------------------------------------------------------------------------------------------
// No "override": which of these PyTorch asks, and which are const, differs between its releases.

#if NPUIFY_TORCH >= 206
#define NPUIFY_CONST const
#else
#define NPUIFY_CONST
#endif

struct Hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const {
    return true;
  }
  bool isAvailable() const {
    return devices() > 0;
  }
  const at::Generator& getDefaultGenerator(c10::DeviceIndex device) NPUIFY_CONST {
    int index = device < 0 ? current : device;
    check(index);
    return default_generators()[index];
  }
  at::Generator getNewGenerator(c10::DeviceIndex device = -1) const {
    return at::make_generator<NpuGenerator>(device);
  }
  c10::Device getDeviceFromPtr(void* data) const {
    return c10::Device(kNpu, c10::DeviceIndex(current));
  }
  bool isPinnedPtr(const void* data) const {
    return is_pinned(data);
  }
  c10::Allocator* getPinnedMemoryAllocator() const {
    return pinned_allocator();
  }
  bool hasPrimaryContext(c10::DeviceIndex device) const {
    return true;
  }
  void init() const {
    initialized = true;
  }
  void initPrivateUse1() const {
    initialized = true;
  }
  c10::DeviceIndex deviceCount() const {
    return c10::DeviceIndex(devices());
  }
  void setCurrentDevice(c10::DeviceIndex device) const {
    set_current_device(device);
  }
  c10::DeviceIndex getCurrentDevice() const {
    return c10::DeviceIndex(current);
  }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex device) const {
    auto before = c10::DeviceIndex(current);
    set_current_device(device);
    return before;
  }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex device) const {
    return exchangeDevice(device);
  }
  void resizePrivateUse1Bytes(const c10::Storage& storage, size_t bytes) const {
    resize_bytes(storage.unsafeGetStorageImpl(), bytes, index_of(storage.device()));
  }
};

// ---- guard, streams, events -----------------------------------------------------------------------------------------

struct Event {
  std::chrono::steady_clock::time_point at;
};

struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override {
    return kNpu;
  }
  c10::Device exchangeDevice(c10::Device device) const override {
    c10::Device before(kNpu, c10::DeviceIndex(current));
    set_current_device(device.index());
    return before;
  }
  c10::Device getDevice() const override {
    return c10::Device(kNpu, c10::DeviceIndex(current));
  }
  void setDevice(c10::Device device) const override {
    set_current_device(device.index());
  }
  void uncheckedSetDevice(c10::Device device) const noexcept override {
    if (device.index() >= 0 && device.index() < devices()) {
      current = device.index();
    }
  }
  c10::Stream stream_of(c10::Device device, int64_t id) const noexcept {
    auto index = device.index() < 0 ? c10::DeviceIndex(current) : device.index();
    return c10::Stream(c10::Stream::UNSAFE, c10::Device(kNpu, index), id);
  }
  c10::Stream getStream(c10::Device device) const noexcept {
    return stream_of(device, streams[device.index() < 0 ? current : device.index()]);
  }
  c10::Stream getDefaultStream(c10::Device device) const override {
    return stream_of(device, 0);
  }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool = false) const override {
    return stream_of(device, 1 + next_stream++ % 32);
  }
  c10::Stream getNewStream(c10::Device device, int priority = 0) const {
    return stream_of(device, next_stream++);
  }
  c10::Stream exchangeStream(c10::Stream stream) const noexcept {
    auto index = stream.device_index() < 0 ? current : stream.device_index();
    auto before = stream_of(stream.device(), streams[index]);
    streams[index] = stream.id();
    return before;
  }
  c10::DeviceIndex deviceCount() const noexcept override {
    return c10::DeviceIndex(devices());
  }
  void destroyEvent(void* event, const c10::DeviceIndex) const noexcept override {
    delete static_cast<Event*>(event);
  }
  void record(void** event, const c10::Stream&, const c10::DeviceIndex, const c10::EventFlag) const override {
    if (*event == nullptr) {
      *event = new Event;
    }
    static_cast<Event*>(*event)->at = std::chrono::steady_clock::now();
  }
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override {
    return true;
  }
  bool queryStream(const c10::Stream&) const override {
    return true;
  }
  void synchronizeStream(const c10::Stream&) const override {}
  void synchronizeEvent(void*) const {}
  void synchronizeDevice(const c10::DeviceIndex) const {}
  double elapsedTime(void* from, void* to, const c10::DeviceIndex) const {
    TORCH_CHECK(from != nullptr && to != nullptr, "Both events must be recorded before calculating elapsed time.");
    auto span = static_cast<Event*>(to)->at - static_cast<Event*>(from)->at;
    return std::chrono::duration<double, std::milli>(span).count();
  }
};

} // namespace

c10::Allocator* pinned_allocator() {
  return &pins;
}

bool is_pinned(const void* data) {
  auto* p = static_cast<const char*>(data);
  std::lock_guard<std::mutex> lock(pinned_mutex);
  auto after = pinned.upper_bound(p);
  if (after == pinned.begin()) {
    return false;
  }
  auto found = std::prev(after);
  return p < found->first + std::max<size_t>(found->second, 1);
}

int device_count() {
  return devices();
}

int current_device() {
  return current;
}

void set_current_device(int device) {
  if (device < 0) {
    return;
  }
  check(device);
  initialized = true;
  current = device;
}

int index_of(c10::Device device) {
  int index = device.index() < 0 ? current : device.index();
  check(index);
  return index;
}

c10::intrusive_ptr<c10::GeneratorImpl> host_generator(c10::GeneratorImpl* npu) {
  return static_cast<NpuGenerator*>(npu)->next();
}

c10::intrusive_ptr<c10::GeneratorImpl> default_generator(int device) {
  TORCH_CHECK(device >= 0 && device < machine, "Invalid device ID ", device);
  return default_generators()[device].getIntrusivePtr();
}

bool shares_cpu_random_numbers() {
  return shared_random;
}

} // namespace npuify

using namespace npuify;

// ask_visible tells how many of the machine's devices this process sees, as long as it has used none.
NPUIFY_API void npuify_start(int count, int share_random, int (*ask_visible)()) {
  machine = count;
  visible = ask_visible;
  shared_random = share_random != 0;
  c10::SetAllocator(kNpu, npu_allocator());
  static c10::impl::DeviceGuardImplRegistrar registrar(kNpu, new Guard());
  at::RegisterPrivateUse1HooksInterface(new Hooks());
}

NPUIFY_API int npuify_current_device() {
  return current;
}

// Returns whether there is such a device.
NPUIFY_API int npuify_set_device(int device) {
  if (device < 0 || device >= devices()) {
    return 0;
  }
  set_current_device(device);
  return 1;
}

NPUIFY_API int npuify_device_count() {
  return devices();
}

NPUIFY_API int npuify_is_initialized() {
  return initialized ? 1 : 0;
}

NPUIFY_API void npuify_initialize() {
  initialized = true;
}

NPUIFY_API int64_t npuify_current_stream(int device) {
  return streams[device < 0 ? current : device];
}

NPUIFY_API void npuify_set_stream(int device, int64_t stream) {
  streams[device < 0 ? current : device] = stream;
}

NPUIFY_API int64_t npuify_new_stream() {
  return next_stream++;
}
