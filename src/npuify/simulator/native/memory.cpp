// Memory of the simulated devices: host memory, counted as torch_npu's caching allocator counts it, and refused when the
// simulated size is reached.
#include "device.h"

#include <c10/core/CPUAllocator.h>
#if NPUIFY_TORCH >= 209
#include <c10/core/CachingDeviceAllocator.h>
#endif
#include <c10/core/impl/alloc_cpu.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <sstream>

namespace npuify {
namespace {

constexpr size_t kRound = 512;
constexpr size_t kSegment = size_t(2) << 20;
constexpr size_t kSmall = size_t(1) << 20;

struct Count {
  int64_t current = 0, peak = 0, allocated = 0, freed = 0;
  void add(int64_t n) {
    current += n;
    peak = std::max(peak, current);
    (n > 0 ? allocated : freed) += n > 0 ? n : -n;
  }
};

struct DeviceMemory {
  std::mutex mutex;
  void reset_peak() {
    for (Count* c : all()) {
      c->peak = c->current;
    }
  }
  void reset_accumulated() {
    for (Count* c : all()) {
      c->allocated = c->freed = 0;
    }
    retries = ooms = 0;
  }
  // In the order in which npuify_memory_stats gives them.
  std::array<Count*, 9> all() {
    return {&bytes[0], &bytes[1], &bytes[2], &blocks[0], &blocks[1], &blocks[2], &requested, &reserved, &segments};
  }
  Count bytes[3], requested, reserved, blocks[3], segments; // [0] all, [1] small pool, [2] large pool
  int64_t retries = 0, ooms = 0;
  double fraction = 1.0;
  Block* first = nullptr;
};

std::array<DeviceMemory, kMostDevices> memories;
int64_t capacity = int64_t(64) << 30;
bool poisoned = false;

size_t rounded(size_t bytes) {
  return (bytes + kRound - 1) / kRound * kRound;
}

std::string human(int64_t bytes) {
  std::ostringstream text;
  text.precision(2);
  text << std::fixed;
  if (bytes < 1024) {
    text << bytes << " bytes";
  } else if (bytes < (int64_t(1) << 20)) {
    text << bytes / 1024.0 << " KiB";
  } else if (bytes < (int64_t(1) << 30)) {
    text << bytes / 1048576.0 << " MiB";
  } else {
    text << bytes / 1073741824.0 << " GiB";
  }
  return text.str();
}

int64_t wanted_segments(const DeviceMemory& m) {
  auto up = [](int64_t n) { return (n + int64_t(kSegment) - 1) / int64_t(kSegment) * int64_t(kSegment); };
  return up(m.bytes[1].current) + up(m.bytes[2].current);
}

[[noreturn]] void out_of_memory(DeviceMemory& m, int device, size_t bytes) {
  m.ooms++;
  int64_t limit = int64_t(capacity * m.fraction);
  C10_THROW_ERROR(
      OutOfMemoryError,
      c10::str(
          "NPU out of memory. Tried to allocate ", human(bytes), " (NPU ", device, "; ", human(capacity), " total capacity; ",
          human(m.bytes[0].current), " already allocated; ", human(m.bytes[0].current), " current active; ",
          human(std::max<int64_t>(0, int64_t(capacity) - m.bytes[0].current)), " free; ",
          m.fraction < 1 ? human(limit) + " allowed; " : "", human(m.reserved.current),
          " reserved in total by PyTorch).If reserved memory is >> allocated memory try setting max_split_size_mb to avoid "
          "fragmentation. (simulated by npuify; --memory sets the size)"));
}

void reserve(int device, size_t bytes) {
  TORCH_CHECK(
      !poisoned,
      "Cannot re-initialize NPU in forked subprocess. To use NPU with multiprocessing, you must use the 'spawn' start method");
  auto& m = memories[device];
  std::lock_guard<std::mutex> lock(m.mutex);
  int64_t size = rounded(bytes);
  if (m.bytes[0].current + size > int64_t(capacity * m.fraction)) {
    m.retries++;
    out_of_memory(m, device, bytes);
  }
  int pool = size_t(size) <= kSmall ? 1 : 2;
  for (int i : {0, pool}) {
    m.bytes[i].add(size);
    m.blocks[i].add(1);
  }
  m.requested.add(bytes);
  int64_t wanted = wanted_segments(m);
  if (wanted > m.reserved.current) {
    m.segments.add((wanted - m.reserved.current) / int64_t(kSegment));
    m.reserved.add(wanted - m.reserved.current);
  }
}

void release(int device, size_t bytes) {
  auto& m = memories[device];
  int64_t size = rounded(bytes);
  int pool = size_t(size) <= kSmall ? 1 : 2;
  for (int i : {0, pool}) {
    m.bytes[i].add(-size);
    m.blocks[i].add(-1);
  }
  m.requested.add(-int64_t(bytes));
}

void free_block(void* context) {
  auto* block = static_cast<Block*>(context);
  {
    auto& m = memories[block->device];
    std::lock_guard<std::mutex> lock(m.mutex);
    release(block->device, block->bytes);
    (block->previous ? block->previous->next : m.first) = block->next;
    if (block->next) {
      block->next->previous = block->previous;
    }
  }
  delete block;
}

c10::DataPtr enter(c10::intrusive_ptr<c10::StorageImpl> host, size_t bytes, int device) {
  void* data = host->data_ptr().get();
  auto* block = new Block;
  block->host = std::move(host);
  block->bytes = bytes;
  block->device = device;
  auto& m = memories[device];
  {
    std::lock_guard<std::mutex> lock(m.mutex);
    block->next = m.first;
    if (m.first) {
      m.first->previous = block;
    }
    m.first = block;
  }
  return {data, block, &free_block, c10::Device(kNpu, c10::DeviceIndex(device))};
}

c10::intrusive_ptr<c10::StorageImpl> new_host(c10::DataPtr data, size_t bytes) {
  return c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), bytes, std::move(data), c10::GetCPUAllocator(), /*resizable=*/true);
}

void give_back_all() {
  for (auto& m : memories) {
    std::lock_guard<std::mutex> lock(m.mutex);
    int64_t wanted = wanted_segments(m);
    if (wanted < m.reserved.current) {
      m.segments.add((wanted - m.reserved.current) / int64_t(kSegment));
      m.reserved.add(wanted - m.reserved.current);
    }
  }
}

#if NPUIFY_TORCH >= 209
using AllocatorBase = c10::DeviceAllocator;
#else
using AllocatorBase = c10::Allocator;
#endif

struct NpuAllocator final : AllocatorBase {
#if NPUIFY_TORCH >= 209
  // What torch.accelerator's functions of memory ask.
  bool initialized() override {
    return true;
  }
  void emptyCache(c10::MempoolId_t = {0, 0}) override {
    give_back_all();
  }
  void recordStream(const c10::DataPtr&, c10::Stream) override {}
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex device) override {
    auto& m = memories[device];
    std::lock_guard<std::mutex> lock(m.mutex);
    c10::CachingDeviceAllocator::DeviceStats found{};
    auto put = [](auto& to, const Count& from) {
      to.current = from.current;
      to.peak = from.peak;
      to.allocated = from.allocated;
      to.freed = from.freed;
    };
    for (size_t i = 0; i < 3; i++) { // all, small pool, large pool, in both
      put(found.allocated_bytes[i], m.bytes[i]);
      put(found.active_bytes[i], m.bytes[i]);
      put(found.allocation[i], m.blocks[i]);
      put(found.active[i], m.blocks[i]);
    }
    put(found.requested_bytes[0], m.requested);
    put(found.reserved_bytes[0], m.reserved);
    put(found.segment[0], m.segments);
    found.num_alloc_retries = m.retries;
    found.num_ooms = m.ooms;
    return found;
  }
  void resetAccumulatedStats(c10::DeviceIndex device) override {
    std::lock_guard<std::mutex> lock(memories[device].mutex);
    memories[device].reset_accumulated();
  }
  void resetPeakStats(c10::DeviceIndex device) override {
    std::lock_guard<std::mutex> lock(memories[device].mutex);
    memories[device].reset_peak();
  }
  std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex device) { // not in the first release that has this class
    auto& m = memories[device];
    std::lock_guard<std::mutex> lock(m.mutex);
    return {size_t(std::max<int64_t>(0, capacity - m.reserved.current)), size_t(capacity)};
  }
#endif
#if NPUIFY_TORCH >= 203
  c10::DataPtr allocate(size_t bytes) override {
    return make(bytes);
  }
#else
  c10::DataPtr allocate(size_t bytes) const override {
    return make(bytes);
  }
#endif
  static c10::DataPtr make(size_t bytes) {
    int device = current_device();
    if (bytes == 0) {
      return {nullptr, nullptr, [](void*) {}, c10::Device(kNpu, c10::DeviceIndex(device))};
    }
    reserve(device, bytes);
    try {
      return enter(new_host(c10::GetCPUAllocator()->allocate(bytes), bytes), bytes, device);
    } catch (...) {
      std::lock_guard<std::mutex> lock(memories[device].mutex);
      release(device, bytes);
      throw;
    }
  }
#if NPUIFY_TORCH >= 203
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }
#endif
};

NpuAllocator allocator;

} // namespace

c10::Allocator* npu_allocator() {
  return &allocator;
}

c10::DataPtr adopt(c10::intrusive_ptr<c10::StorageImpl> host, int device) {
  size_t bytes = host->nbytes();
  if (bytes == 0 || host->data_ptr().get() == nullptr) {
    return {nullptr, nullptr, [](void*) {}, c10::Device(kNpu, c10::DeviceIndex(device))};
  }
  reserve(device, bytes);
  return enter(std::move(host), bytes, device);
}

c10::intrusive_ptr<c10::StorageImpl> host_storage(c10::StorageImpl* storage) {
  const c10::DataPtr& data = storage->data_ptr();
  if (data.get_deleter() == &free_block && data.get() != nullptr) {
    auto* block = static_cast<Block*>(data.get_context());
    if (block->host->data_ptr().get() == data.get() && block->host->nbytes() == storage->nbytes()) {
      return block->host;
    }
  }
  // Memory that somebody else made (empty, shared, or resized by hand): a CPU storage that keeps the NPU's alive.
  auto* owner = new c10::intrusive_ptr<c10::StorageImpl>(c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(storage));
  c10::DataPtr alias(
      storage->mutable_data(), owner, [](void* p) { delete static_cast<c10::intrusive_ptr<c10::StorageImpl>*>(p); },
      c10::Device(c10::DeviceType::CPU));
  return new_host(std::move(alias), storage->nbytes());
}

// Called by the hooks: what untyped_storage().resize_() does.
void resize_bytes(c10::StorageImpl* storage, size_t bytes, int device) {
  int before = current_device();
  set_current_device(device);
  c10::DataPtr fresh;
  try {
    fresh = allocator.allocate(bytes);
  } catch (...) {
    set_current_device(before);
    throw;
  }
  set_current_device(before);
  if (bytes != 0 && storage->data_ptr().get() != nullptr) {
    std::memcpy(fresh.get(), storage->data_ptr().get(), std::min(bytes, storage->nbytes()));
  }
  storage->set_data_ptr_noswap(std::move(fresh));
  storage->set_nbytes(bytes);
}

} // namespace npuify

using namespace npuify;

NPUIFY_API void npuify_set_capacity(int64_t bytes) {
  capacity = bytes;
}

NPUIFY_API int64_t npuify_capacity() {
  return capacity;
}

NPUIFY_API void npuify_poison() {
  poisoned = true;
}

NPUIFY_API void npuify_set_fraction(int device, double fraction) {
  memories[device].fraction = fraction;
}

NPUIFY_API double npuify_fraction(int device) {
  return memories[device].fraction;
}

// 0-35: bytes all/small/large, blocks all/small/large, requested, reserved, segments; of each current, peak, allocated,
// freed. 36: retries. 37: refusals.
NPUIFY_API void npuify_memory_stats(int device, int64_t* out) {
  auto& m = memories[device];
  std::lock_guard<std::mutex> lock(m.mutex);
  for (const Count* c : m.all()) {
    *out++ = c->current;
    *out++ = c->peak;
    *out++ = c->allocated;
    *out++ = c->freed;
  }
  *out++ = m.retries;
  *out++ = m.ooms;
}

NPUIFY_API void npuify_reset_peak(int device) {
  std::lock_guard<std::mutex> lock(memories[device].mutex);
  memories[device].reset_peak();
}

NPUIFY_API void npuify_reset_accumulated(int device) {
  std::lock_guard<std::mutex> lock(memories[device].mutex);
  memories[device].reset_accumulated();
}

NPUIFY_API void npuify_empty_cache() {
  give_back_all();
}

// Addresses and sizes of the live blocks of a device; returns how many there are.
NPUIFY_API int64_t npuify_blocks(int device, int64_t* addresses, int64_t* sizes, int64_t room) {
  auto& m = memories[device];
  std::lock_guard<std::mutex> lock(m.mutex);
  int64_t n = 0;
  for (Block* b = m.first; b != nullptr; b = b->next, n++) {
    if (n < room) {
      addresses[n] = reinterpret_cast<int64_t>(b->host->data_ptr().get());
      sizes[n] = int64_t(b->bytes);
    }
  }
  return n;
}
