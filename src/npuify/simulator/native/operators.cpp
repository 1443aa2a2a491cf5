// Operators: each that has no kernel of its own runs as the CPU's, on the same memory. The arguments become CPU tensors
// over the NPU tensors' storages, and results become NPU tensors over the memory that the CPU kernel made; nothing is copied.
#include "device.h"
#include "operators.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/EmptyTensor.h>
#include <ATen/SparseCsrTensorImpl.h>
#include <ATen/SparseTensorImpl.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/op_registration/adaption.h>
#include <ATen/ops/_to_copy_native.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace npuify {
namespace {

using at::Tensor;
using c10::DispatchKey;
using c10::DispatchKeySet;
using c10::IValue;
using c10::OperatorHandle;
using c10::Stack;

// PyTorch 2.1 has an optional of its own, and no key for compressed sparse tensors of such a device; 2.4 is as later ones.
#if NPUIFY_TORCH >= 204
template <class T>
using maybe = std::optional<T>;
constexpr auto none = std::nullopt;
constexpr DispatchKey kCompressed = DispatchKey::SparseCsrPrivateUse1;
#else
template <class T>
using maybe = c10::optional<T>;
constexpr auto none = c10::nullopt;
constexpr DispatchKey kCompressed = DispatchKey::Undefined;
#endif

// ---- what is known of each operator ---------------------------------------------------------------------------------

enum Policy : int { kOff = 0, kWarn = 1, kError = 2 };

struct Operator {
  std::string name;
  bool random = false;        // draws random numbers
  bool takes_cpu = false;     // CPU tensors may stand beside NPU tensors
  bool collective = false;    // torch.distributed
  bool flat = false;          // of a collective: the shapes of its tensors mean nothing
  bool on_host = false;       // the release has no NPU kernel for it: there it runs on the host's CPU
  bool in_float = false;      // half types are computed in float32 and rounded once
  std::vector<bool> written;  // by argument
  std::unordered_set<std::string> npu_only; // arguments that are no CPU tensor, not even one without dimensions
  std::atomic<int64_t> calls{0};
};

std::mutex table_mutex;
std::unordered_map<const void*, Operator*> table;
std::unordered_set<std::string> native_names; // "aten::add.Tensor", those with a kernel in the release
std::unordered_set<std::string> mixed_names;
std::unordered_set<std::string> float_names;
std::unordered_map<std::string, std::unordered_set<std::string>> npu_only_names;
std::atomic<int> policy{kOff};
std::atomic<bool> knows_release{false};

std::string full_name(const c10::OperatorName& n) {
  return n.overload_name.empty() ? n.name : n.name + "." + n.overload_name;
}

Operator* describe(const OperatorHandle& op) {
  std::lock_guard<std::mutex> lock(table_mutex);
  const void* key = &op.schema();
  auto found = table.find(key);
  if (found != table.end()) {
    return found->second;
  }
  auto* o = new Operator;
  o->name = full_name(op.operator_name());
  for (const auto& argument : op.schema().arguments()) {
    o->written.push_back(argument.alias_info() != nullptr && argument.alias_info()->isWrite());
  }
  o->random = op.hasTag(at::Tag::nondeterministic_seeded);
  o->collective = o->name.rfind("c10d::", 0) == 0;
  o->flat = o->name == "c10d::_allgather_base_" || o->name == "c10d::_reduce_scatter_base_";
  o->takes_cpu = mixed_names.count(o->name) != 0;
  auto only = npu_only_names.find(o->name);
  if (only != npu_only_names.end()) {
    o->npu_only = only->second;
  }
  o->in_float = float_names.count(o->name) != 0;
  o->on_host = knows_release && o->name.rfind("aten::", 0) == 0 && native_names.count(o->name) == 0;
  table[key] = o;
  return o;
}

Operator& about(const OperatorHandle& op) {
  thread_local std::unordered_map<const void*, Operator*> seen;
  auto& entry = seen[&op.schema()];
  if (entry == nullptr) {
    entry = describe(op);
  }
  return *entry;
}

void note_host_run(Operator& o) {
  int64_t before = o.calls++;
  int p = policy;
  if (p == kError) {
    TORCH_CHECK(
        false, "The operator '", o.name, "' would execute its main computation on CPU through dispatcher backend fallback because ",
        "no kernel is registered for the NPU PrivateUse1 backend, but CPU fallback is disabled by ",
        "TORCH_NPU_FALLBACK_CPU_DISABLE=1. (simulated by npuify)");
  }
  if (p == kWarn && before == 0) {
    TORCH_WARN(
        "CAUTION: The operator '", o.name, "' is not currently supported on the NPU backend and will fall back to run on the CPU. ",
        "This may have performance implications. (simulated by npuify)");
  }
}

// ---- one call -------------------------------------------------------------------------------------------------------

struct Seen {
  Tensor npu;
  Tensor host;
  c10::StorageImpl* storage; // of npu
  bool written;
};

class Call {
 public:
  explicit Call(const Operator& o) : operator_(o) {}

  int device = -1;
  DispatchKeySet keys{DispatchKey::CPU};
  // The argument that is looked at, for the message that refuses it.
  const c10::Argument* argument = nullptr;

  Tensor to_host(const Tensor& t, bool written) {
    if (!t.defined()) {
      return t;
    }
    if (t.device().type() != kNpu) {
      other(t, written);
      return t;
    }
    stands_on(t);
    if (device < 0) {
      device = t.device().index();
    }
    for (auto& s : seen_) {
      if (s.npu.is_same(t)) {
        s.written |= written;
        return s.host;
      }
    }
    auto* impl = t.unsafeGetTensorImpl();
    if (is_sparse(t.layout())) {
      keys = keys | host_keys(t.layout());
      Tensor host = sparse_like(impl, host_keys(t.layout()), c10::Device(c10::DeviceType::CPU));
      fill(host.unsafeGetTensorImpl(), impl, [&](const Tensor& part) { return to_host(part, false); });
      seen_.push_back({t, host, nullptr, written});
      return host;
    }
    TORCH_CHECK(
        impl->has_storage(), operator_.name, " on a tensor of layout ", t.layout(), " is not simulated (npuify); its device is ",
        t.device());
    auto* storage = impl->unsafe_storage().unsafeGetStorageImpl();
    c10::intrusive_ptr<c10::StorageImpl> host;
    for (auto& s : seen_) {
      if (s.storage == storage) {
        host = c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(s.host.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl());
      }
    }
    if (!host) {
      host = host_storage(storage);
    }
    Tensor alias = at::detail::make_tensor<c10::TensorImpl>(
        c10::Storage(std::move(host)), with_zero(DispatchKeySet(DispatchKey::CPU), impl), impl->dtype());
    auto* a = alias.unsafeGetTensorImpl();
    a->set_sizes_and_strides(impl->sizes(), impl->strides(), impl->storage_offset());
    if (operator_.flat && impl->is_contiguous()) {
      a->set_sizes_contiguous(std::vector<int64_t>{impl->numel()}); // gloo would cut them along the first dimension
    }
    if (t.is_conj()) {
      a->_set_conj(true);
    }
    if (t.is_neg()) {
      a->_set_neg(true);
    }
    if (impl->is_wrapped_number()) {
      a->set_wrapped_number(true);
    }
    seen_.push_back({t, alias, storage, written});
    return alias;
  }

  // PyTorch's own words, as in the checks that it writes for each backend.
  void check_devices() const {
    if (device < 0 || !wrong_.defined() || (operator_.takes_cpu && !refused_)) {
      return;
    }
    auto name = operator_.name.substr(operator_.name.find("::") + 2);
    auto dot = name.find('.');
    auto overload = dot == std::string::npos ? std::string() : name.substr(dot + 1);
    auto method = "wrapper_NPU_" + overload + "_" + name.substr(0, dot);
    struct Expected { // the oldest releases want the optional
      maybe<c10::Device> device;
      operator maybe<c10::Device>&() {
        return device;
      }
      operator c10::Device() const {
        return *device;
      }
    } expected{first_};
    c10::impl::common_device_check_failure(expected, wrong_, method.c_str(), wrong_name_.c_str());
  }

  Tensor to_npu(const Tensor& t) {
    if (!t.defined()) {
      return t;
    }
    for (auto& s : seen_) {
      if (s.host.is_same(t)) {
        return s.npu;
      }
    }
    for (auto& m : made_) {
      if (m.host.is_same(t)) {
        return m.npu;
      }
    }
    auto* impl = t.unsafeGetTensorImpl();
    if (t.device().type() != c10::DeviceType::CPU) {
      return t;
    }
    TORCH_CHECK(
        !t.is_quantized(), operator_.name, " makes a quantized tensor, which is not simulated on an NPU (npuify)");
    for (auto& g : given_) {
      if (g.is_same(t)) {
        return t;
      }
    }
    if (is_sparse(t.layout())) {
      Tensor npu = sparse_like(impl, npu_keys(t.layout()), c10::Device(kNpu, c10::DeviceIndex(target())));
      fill(npu.unsafeGetTensorImpl(), impl, [&](const Tensor& part) { return to_npu(part); });
      made_.push_back({npu, t, nullptr, false});
      return npu;
    }
    TORCH_CHECK(
        impl->has_storage(), operator_.name, " makes a tensor of layout ", t.layout(), ", which is not simulated on an NPU (npuify)");
    c10::Storage storage;
    const Tensor* base = nullptr;
    auto* host = impl->unsafe_storage().unsafeGetStorageImpl();
    for (auto& s : seen_) {
      if (s.storage != nullptr && s.host.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl() == host) {
        storage = c10::Storage(c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(s.storage));
        base = &s.npu;
        break;
      }
    }
    for (auto& m : made_) {
      if (!storage && m.storage != nullptr && m.storage == host) {
        storage = m.npu.unsafeGetTensorImpl()->unsafe_storage();
      }
    }
    bool fresh = !storage;
    if (fresh) {
      storage = new_storage(c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(host));
    }
    Tensor result = wrap(std::move(storage), impl, base);
    if (fresh) {
      made_.push_back({result, t, host, false});
    }
    return result;
  }

  // Arguments that the operator wrote may have another shape or another memory now.
  void write_back() {
    for (size_t i = 0; i < seen_.size(); i++) {
      auto s = seen_[i];
      if (!s.written || operator_.collective) {
        continue;
      }
      auto* from = s.host.unsafeGetTensorImpl();
      auto* to = s.npu.unsafeGetTensorImpl();
      if (s.storage == nullptr) {
        fill(to, from, [&](const Tensor& part) { return to_npu(part); });
        continue;
      }
      auto* host = from->unsafe_storage().unsafeGetStorageImpl();
      if (host->data_ptr().get() != s.storage->data_ptr().get() || host->nbytes() != s.storage->nbytes()) {
        auto held = c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(host);
        s.storage->set_data_ptr_noswap(adopt(std::move(held), target()));
        s.storage->set_nbytes(host->nbytes());
      }
      if (from->sizes() != to->sizes() || from->strides() != to->strides() || from->storage_offset() != to->storage_offset()) {
        to->set_sizes_and_strides(from->sizes(), from->strides(), from->storage_offset());
      }
    }
  }

  int target() const {
    return device < 0 ? current_device() : device;
  }

  const std::vector<Seen>& seen() const {
    return seen_;
  }

 private:
  // Sparse tensors: an implementation whose parts are dense tensors of the same device.
  static bool is_sparse(c10::Layout layout) {
    return layout == c10::kSparse || is_compressed(layout);
  }
  static bool is_compressed(c10::Layout layout) {
    return layout == c10::kSparseCsr || layout == c10::kSparseCsc || layout == c10::kSparseBsr || layout == c10::kSparseBsc;
  }
  static DispatchKeySet host_keys(c10::Layout layout) {
    return DispatchKeySet(layout == c10::kSparse ? DispatchKey::SparseCPU : DispatchKey::SparseCsrCPU);
  }
  static DispatchKeySet npu_keys(c10::Layout layout) {
    const auto key = layout == c10::kSparse ? DispatchKey::SparsePrivateUse1 : kCompressed;
    TORCH_CHECK(
        key != DispatchKey::Undefined, "tensors of layout ", layout, " are not simulated on an NPU with this PyTorch, which has no place "
        "for them (npuify)");
    return DispatchKeySet(key);
  }
  static Tensor sparse_like(c10::TensorImpl* like, DispatchKeySet keys, c10::Device device) {
    // Its first, empty parts are made on the current device, and say which is its own.
    const int before = current_device();
    set_current_device(device.type() == kNpu ? device.index() : before);
    Tensor made = empty_sparse(like, keys, device);
    set_current_device(before);
    return made;
  }
  static Tensor empty_sparse(c10::TensorImpl* like, DispatchKeySet keys, c10::Device device) {
    if (like->layout() == c10::kSparse) {
      return at::detail::make_tensor<at::SparseTensorImpl>(keys, like->dtype());
    }
    return at::detail::make_tensor<at::SparseCsrTensorImpl>(keys, device, like->layout(), like->dtype());
  }
  // Gives `to` the shape of `from`, and what `part` makes of its parts.
  template <class F>
  static void fill(c10::TensorImpl* to, c10::TensorImpl* from, F&& part) {
    if (from->layout() == c10::kSparse) {
      auto* source = static_cast<at::SparseTensorImpl*>(from);
      auto* target = static_cast<at::SparseTensorImpl*>(to);
      target->raw_resize_(source->sparse_dim(), source->dense_dim(), source->sizes());
      target->set_indices_and_values_unsafe(part(source->indices()), part(source->values()));
      target->set_coalesced(source->coalesced());
    } else {
      auto* source = static_cast<at::SparseCsrTensorImpl*>(from);
      static_cast<at::SparseCsrTensorImpl*>(to)->set_member_tensors(
          part(source->compressed_indices()), part(source->plain_indices()), part(source->values()), source->sizes());
    }
  }

  // Notes where an argument is; the first one says where all should be.
  void stands_on(const Tensor& t) {
    if (!first_) {
      first_ = t.device();
    } else if (!wrong_.defined() && t.device() != *first_) {
      wrong_ = t;
      wrong_name_ = argument == nullptr ? "self" : argument->name();
    }
  }

  void other(const Tensor& t, bool written) {
    keep_keys(t);
    given_.push_back(t);
    if (!written && t.device().type() == c10::DeviceType::CPU) {
      if (argument != nullptr && operator_.npu_only.count(argument->name()) != 0) {
        refused_ = true;
      } else if (t.dim() == 0) {
        return; // a number, as TensorIterator takes it
      }
    }
    stands_on(t);
  }

  void keep_keys(const Tensor& t) {
    if (t.device().type() == c10::DeviceType::CPU && t.layout() != c10::kStrided) {
      keys = keys | t.key_set();
    }
  }

  c10::Storage new_storage(c10::intrusive_ptr<c10::StorageImpl> host) {
    size_t bytes = host->nbytes();
    return c10::Storage(c10::make_intrusive<c10::StorageImpl>(
        c10::StorageImpl::use_byte_size_t(), bytes, adopt(std::move(host), target()), npu_allocator(), /*resizable=*/true));
  }

  // Zeros without memory stay that.
  static DispatchKeySet with_zero(DispatchKeySet keys, const c10::TensorImpl* like) {
    return like->key_set().has(DispatchKey::ZeroTensor) ? keys.add(DispatchKey::ZeroTensor) : keys;
  }

  // A view has its base's keys, and with them its being an inference tensor or not.
  static Tensor wrap(c10::Storage storage, c10::TensorImpl* like, const Tensor* base) {
    Tensor t = base == nullptr
        ? at::detail::make_tensor<c10::TensorImpl>(
              std::move(storage), with_zero(DispatchKeySet(DispatchKey::PrivateUse1), like), like->dtype())
        : at::detail::make_tensor<c10::TensorImpl>(
              c10::TensorImpl::VIEW, std::move(storage), base->key_set() - kBits, like->dtype());
    auto* impl = t.unsafeGetTensorImpl();
    impl->set_sizes_and_strides(like->sizes(), like->strides(), like->storage_offset());
    if (like->is_conj()) {
      impl->_set_conj(true);
    }
    if (like->is_neg()) {
      impl->_set_neg(true);
    }
    if (like->is_wrapped_number()) {
      impl->set_wrapped_number(true);
    }
    return t;
  }

  static constexpr DispatchKeySet kBits = DispatchKeySet({DispatchKey::Conjugate, DispatchKey::Negative});
  const Operator& operator_;
  std::vector<Seen> seen_;
  std::vector<Seen> made_; // host.storage -> npu
  std::vector<Tensor> given_;
  bool refused_ = false; // an argument is on the CPU that never may be
  maybe<c10::Device> first_;
  Tensor wrong_; // the first that is elsewhere, and its argument
  std::string wrong_name_;
};

// The CPU's default generator stands in for the NPU's while an operator runs that cannot be given one.
class RandomNumbers {
 public:
  explicit RandomNumbers(int device) {
    auto host = host_generator(default_generator(device).get());
    npu_ = static_cast<at::CPUGeneratorImpl*>(host.get());
    auto general = at::detail::getDefaultCPUGenerator();
    cpu_ = general.get<at::CPUGeneratorImpl>();
    lock_ = std::unique_lock<std::recursive_mutex>(mutex());
    swap();
  }
  ~RandomNumbers() {
    swap();
  }
  RandomNumbers(const RandomNumbers&) = delete;

 private:
  static std::recursive_mutex& mutex() {
    static std::recursive_mutex m;
    return m;
  }
  void swap() {
    std::lock_guard<std::mutex> lock(cpu_->mutex_);
    auto engine = cpu_->engine();
    auto f = cpu_->next_float_normal_sample();
    auto d = cpu_->next_double_normal_sample();
    cpu_->set_engine(npu_->engine());
    cpu_->set_next_float_normal_sample(npu_->next_float_normal_sample());
    cpu_->set_next_double_normal_sample(npu_->next_double_normal_sample());
    npu_->set_engine(engine);
    npu_->set_next_float_normal_sample(f);
    npu_->set_next_double_normal_sample(d);
  }
  at::CPUGeneratorImpl* npu_;
  at::CPUGeneratorImpl* cpu_;
  std::unique_lock<std::recursive_mutex> lock_;
};

// Applies `f` to each tensor in a value; says whether there was any. Lists of tensors are made anew.
template <class F>
bool each_tensor(IValue& value, F&& f) {
  if (value.isTensor()) {
    Tensor t = value.toTensor();
    Tensor u = f(t);
    if (!u.is_same(t)) {
      value = IValue(std::move(u));
    }
    return true;
  }
  if (value.isTensorList()) {
    auto list = value.toTensorList();
    c10::List<Tensor> made;
    made.reserve(list.size());
    for (size_t i = 0; i < list.size(); i++) {
      made.push_back(f(list.get(i)));
    }
    value = IValue(std::move(made));
    return true;
  }
  if (value.isList()) {
    auto list = value.toList();
    auto element = list.elementType();
    if (element->kind() == c10::TypeKind::OptionalType || element->kind() == c10::TypeKind::ListType) {
      bool any = false;
      c10::List<IValue> copy(element);
      for (size_t i = 0; i < list.size(); i++) {
        IValue item = list.get(i);
        any |= each_tensor(item, f);
        copy.push_back(std::move(item));
      }
      if (any) {
        if (element->kind() == c10::TypeKind::ListType) {
          c10::List<c10::List<Tensor>> typed;
          for (size_t i = 0; i < copy.size(); i++) {
            typed.push_back(copy.get(i).toTensorList());
          }
          value = IValue(std::move(typed));
        } else {
          c10::List<maybe<Tensor>> typed;
          for (size_t i = 0; i < copy.size(); i++) {
            IValue item = copy.get(i);
            typed.push_back(item.isNone() ? maybe<Tensor>() : maybe<Tensor>(item.toTensor()));
          }
          value = IValue(std::move(typed));
        }
      }
      return any;
    }
  }
  return false;
}

// Products and convolutions of half types: the CPU's kernels for these are many times slower than those for float32. An NPU
// accumulates in float32 and rounds once, which is what this does.
class InFloat {
 public:
  // Widens the arguments on the stack, where all that are of a floating type are of one half type.
  InFloat(const Operator& o, Stack* stack, size_t base, size_t count) {
    if (!o.in_float || !find_half(stack, base, count)) {
      return;
    }
    for (size_t i = 0; i < count; i++) {
      each_tensor((*stack)[base + i], [&](const Tensor& t) { return is_floating(t) ? widen(t, o.written[i]) : t; });
    }
  }

  // Rounds what was written, and what the operator returned.
  void round(Stack* stack, size_t returned) {
    for (const auto& w : wide_) {
      if (w.written) {
        if (w.half.sizes() != w.wide.sizes()) {
          w.half.resize_(w.wide.sizes());
        }
        w.half.copy_(w.wide);
      }
    }
    for (size_t i = stack->size() - returned; !wide_.empty() && i < stack->size(); i++) {
      each_tensor((*stack)[i], [&](const Tensor& t) { return narrow(t); });
    }
  }

 private:
  struct Wide {
    Tensor half;
    Tensor wide;
    bool written;
  };

  static bool is_floating(const Tensor& t) {
    return t.defined() && t.is_floating_point() && t.layout() == c10::kStrided;
  }

  bool find_half(Stack* stack, size_t base, size_t count) {
    bool alike = true;
    for (size_t i = 0; i < count; i++) {
      each_tensor((*stack)[base + i], [&](const Tensor& t) {
        if (is_floating(t)) {
          alike = alike && (half_ == at::ScalarType::Undefined || half_ == t.scalar_type());
          half_ = t.scalar_type();
        }
        return t;
      });
    }
    return alike && (half_ == at::kHalf || half_ == at::kBFloat16);
  }

  Tensor widen(const Tensor& t, bool written) {
    for (auto& w : wide_) {
      if (w.half.is_same(t)) {
        w.written |= written;
        return w.wide;
      }
    }
    wide_.push_back({t, cast(t, at::kFloat), written});
    return wide_.back().wide;
  }

  Tensor narrow(const Tensor& t) const {
    for (const auto& w : wide_) {
      if (w.wide.is_same(t)) {
        return w.half;
      }
    }
    return is_floating(t) && t.scalar_type() == at::kFloat ? cast(t, half_) : t;
  }

  static Tensor cast(const Tensor& t, at::ScalarType type) {
    return at::native::_to_copy(t, type, none, none, none, false, none);
  }

  at::ScalarType half_ = at::ScalarType::Undefined;
  std::vector<Wide> wide_;
};

void run_on_host(const OperatorHandle& op, DispatchKeySet given, Stack* stack) {
  Operator& o = about(op);
  const bool sparse = given.has(DispatchKey::SparsePrivateUse1);
  const bool compressed = kCompressed != DispatchKey::Undefined && given.has(kCompressed);
  if (o.on_host && !sparse && !compressed) {
    note_host_run(o);
  }
  const size_t count = op.schema().arguments().size();
  const size_t base = stack->size() - count;
  Call call(o);
  // Also where no argument is sparse yet, but the result will be.
  if (sparse) {
    call.keys = call.keys | DispatchKeySet(DispatchKey::SparseCPU);
  }
  if (compressed) {
    call.keys = call.keys | DispatchKeySet(DispatchKey::SparseCsrCPU);
  }
  bool has_generator = false;
  int from_argument = -1;
  for (size_t i = 0; i < count; i++) {
    IValue& value = (*stack)[base + i];
    const bool written = o.written[i];
    call.argument = &op.schema().arguments()[i];
    if (each_tensor(value, [&](const Tensor& t) { return call.to_host(t, written); })) {
      continue;
    }
    if (value.isDevice()) {
      auto device = value.toDevice();
      if (device.type() == kNpu) {
        from_argument = index_of(device);
        value = IValue(c10::Device(c10::DeviceType::CPU));
      }
    } else if (value.isGenerator()) {
      auto generator = value.toGenerator();
      TORCH_CHECK(
          generator.device().type() == kNpu, "Expected a 'npu' device type for generator but found '", generator.device().type(), "'");
      has_generator = true;
      value = IValue(at::Generator(host_generator(generator.unsafeGetGeneratorImpl())));
    } else if (o.collective && value.isObject()) {
      value = twin_of(value);
    }
  }
  call.check_devices();
  if (from_argument >= 0) {
    call.device = from_argument;
  }
  TORCH_CHECK(
      !has_generator || call.device >= 0,
      "Expected all tensors to be on the same device. Expected NPU tensor, please check whether the input tensor device is correct. ",
      "(simulated by npuify)");
  {
    std::optional<RandomNumbers> random;
    if (o.random && !has_generator && !shares_cpu_random_numbers()) {
      random.emplace(call.target());
    }
    c10::impl::ExcludeDispatchKeyGuard guard(
        c10::autograd_dispatch_keyset_with_ADInplaceOrView | DispatchKeySet(DispatchKey::AutocastCPU) |
        DispatchKeySet(DispatchKey::AutocastPrivateUse1));
    try {
      if (o.collective) {
        check_reduction(o.name, count, *stack);
      }
      if (!o.collective || !collective_by_other_means(o.name, count, stack)) {
        InFloat products(o, stack, base, count);
        op.redispatchBoxed(call.keys & c10::after_ADInplaceOrView_keyset, stack);
        products.round(stack, op.schema().returns().size());
      }
    } catch (...) {
      call.write_back();
      throw;
    }
  }
  call.write_back();
  const size_t returned = op.schema().returns().size();
  for (size_t i = stack->size() - returned; i < stack->size(); i++) {
    IValue& value = (*stack)[i];
    if (!each_tensor(value, [&](const Tensor& t) { return call.to_npu(t); }) && o.collective && value.isObject()) {
      std::vector<std::pair<Tensor, Tensor>> pairs;
      for (const auto& s : call.seen()) {
        pairs.emplace_back(s.host, s.npu);
      }
      value = wrap_work(std::move(value), std::move(pairs));
    }
  }
}

// Sparse tensors, where the release has no kernel for them: there PyTorch's fallback takes them to the host, too.
void run_sparse_on_host(const OperatorHandle& op, DispatchKeySet given, Stack* stack) {
  note_host_run(about(op));
  run_on_host(op, given, stack);
}

// Memory, of which the device has its own.
void empty_memory_format(const OperatorHandle& op, DispatchKeySet, Stack* stack);

template <class T>
T argument(const Stack* stack, size_t count, size_t index) {
  if constexpr (std::is_same_v<T, IValue>) {
    return (*stack)[stack->size() - count + index];
  } else {
    return (*stack)[stack->size() - count + index].to<T>();
  }
}

struct OnDevice {
  explicit OnDevice(const IValue& device) : before(current_device()) {
    if (device.isDevice()) {
      set_current_device(index_of(device.toDevice()));
    }
  }
  ~OnDevice() {
    set_current_device(before);
  }
  int before;
};

caffe2::TypeMeta type_of(const IValue& value) {
  return value.isNone() ? c10::get_default_dtype() : c10::scalarTypeToTypeMeta(value.toScalarType());
}

// empty.memory_format(SymInt[] size, *, ScalarType? dtype, Layout? layout, Device? device, bool? pin_memory, MemoryFormat? f)
void empty_memory_format(const OperatorHandle& op, DispatchKeySet, Stack* stack) {
  auto size = argument<std::vector<int64_t>>(stack, 6, 0);
  IValue dtype = (*stack)[stack->size() - 5];
  IValue device = (*stack)[stack->size() - 3];
  IValue format = (*stack)[stack->size() - 1];
  OnDevice there(device);
  auto t = at::detail::empty_generic(
      size, npu_allocator(), DispatchKeySet(DispatchKey::PrivateUse1), c10::typeMetaToScalarType(type_of(dtype)),
      format.isNone() ? maybe<at::MemoryFormat>() : maybe<at::MemoryFormat>(format.toMemoryFormat()));
  torch::jit::drop(*stack, 6);
  stack->emplace_back(Tensor(t));
}

// empty_strided(SymInt[] size, SymInt[] stride, *, ScalarType? dtype, Layout? layout, Device? device, bool? pin_memory)
void empty_strided(const OperatorHandle& op, DispatchKeySet, Stack* stack) {
  auto size = argument<std::vector<int64_t>>(stack, 6, 0);
  auto stride = argument<std::vector<int64_t>>(stack, 6, 1);
  IValue dtype = (*stack)[stack->size() - 4];
  IValue device = (*stack)[stack->size() - 2];
  OnDevice there(device);
  auto t = at::detail::empty_strided_generic(
      size, stride, npu_allocator(), DispatchKeySet(DispatchKey::PrivateUse1), c10::typeMetaToScalarType(type_of(dtype)));
  torch::jit::drop(*stack, 6);
  stack->emplace_back(Tensor(t));
}

// set_.source_Storage_storage_offset(Tensor(a!) self, Storage source, SymInt offset, SymInt[] size, SymInt[] stride=[])
void set_storage(const OperatorHandle& op, DispatchKeySet, Stack* stack) {
  Tensor self = argument<Tensor>(stack, 5, 0);
  auto source = argument<c10::Storage>(stack, 5, 1);
  auto offset = argument<int64_t>(stack, 5, 2);
  auto size = argument<std::vector<int64_t>>(stack, 5, 3);
  auto stride = argument<std::vector<int64_t>>(stack, 5, 4);
  if (stride.empty() && !size.empty()) {
    stride.resize(size.size());
    int64_t step = 1;
    for (size_t i = size.size(); i-- > 0;) {
      stride[i] = step;
      step *= std::max<int64_t>(size[i], 1);
    }
  }
  auto* impl = self.unsafeGetTensorImpl();
  impl->set_storage_keep_dtype(std::move(source));
  impl->set_sizes_and_strides(size, stride, offset);
  torch::jit::drop(*stack, 5);
  stack->emplace_back(std::move(self));
}

// set_.source_Storage(Tensor(a!) self, Storage source)
void set_whole_storage(const OperatorHandle& op, DispatchKeySet, Stack* stack) {
  Tensor self = argument<Tensor>(stack, 2, 0);
  auto source = argument<c10::Storage>(stack, 2, 1);
  int64_t items = int64_t(source.nbytes() / self.dtype().itemsize());
  auto* impl = self.unsafeGetTensorImpl();
  impl->set_storage_keep_dtype(std::move(source));
  impl->set_sizes_and_strides(std::vector<int64_t>{items}, std::vector<int64_t>{1}, int64_t(0));
  torch::jit::drop(*stack, 2);
  stack->emplace_back(std::move(self));
}

// set_.source_Tensor(Tensor(a!) self, Tensor source)
void set_tensor(const OperatorHandle& op, DispatchKeySet, Stack* stack) {
  Tensor self = argument<Tensor>(stack, 2, 0);
  Tensor source = argument<Tensor>(stack, 2, 1);
  auto* impl = self.unsafeGetTensorImpl();
  impl->set_storage_keep_dtype(source.storage());
  impl->set_sizes_and_strides(source.sizes(), source.strides(), source.storage_offset());
  torch::jit::drop(*stack, 2);
  stack->emplace_back(std::move(self));
}

// _has_compatible_shallow_copy_type(Tensor self, Tensor from) -> bool: `x.data = y` may change the device, so that a module
// that moves keeps its parameters, and an optimiser made before still has them.
void may_take_data(const OperatorHandle& op, DispatchKeySet, Stack* stack) {
  Tensor self = argument<Tensor>(stack, 2, 0);
  Tensor from = argument<Tensor>(stack, 2, 1);
  auto dense = [](const Tensor& t) {
    return t.layout() == c10::kStrided && (t.device().type() == kNpu || t.device().type() == c10::DeviceType::CPU);
  };
  torch::jit::drop(*stack, 2);
  stack->emplace_back(self.key_set() == from.key_set() || (dense(self) && dense(from)));
}

// _to_copy: what is converted to float64 where it is becomes float32, as there; what is brought as float64, or to a device
// that is named, stays that.
Tensor to_copy(
    const Tensor& self, maybe<at::ScalarType> dtype, maybe<at::Layout> layout, maybe<at::Device> device,
    maybe<bool> pin_memory, bool non_blocking, maybe<at::MemoryFormat> format) {
  if (dtype == at::kDouble && !device.has_value() && self.device().type() == kNpu && self.scalar_type() != at::kDouble) {
    static std::atomic<bool> said{false};
    if (!said.exchange(true)) {
      TORCH_WARN("Warning: Device do not support double dtype now, dtype cast replace with float. (simulated by npuify)");
    }
    dtype = at::kFloat;
  }
  return at::native::_to_copy(self, dtype, layout, device, pin_memory, non_blocking, format);
}

#if NPUIFY_TORCH < 205
// Up to 2.4 PyTorch asks CUDA where memory is pinned, unless it is told another device; the package asks itself instead.

// is_pinned(Tensor self, Device? device=None) -> bool
void tell_pinned(const OperatorHandle& op, DispatchKeySet, Stack* stack) {
  Tensor self = argument<Tensor>(stack, 2, 0);
  const bool dense = self.device().type() == c10::DeviceType::CPU && self.layout() == c10::kStrided;
  torch::jit::drop(*stack, 2);
  stack->emplace_back(dense && is_pinned(self.storage().data()));
}

// _pin_memory(Tensor self, Device? device=None) -> Tensor
void pin(const OperatorHandle& op, DispatchKeySet, Stack* stack) {
  Tensor self = argument<Tensor>(stack, 2, 0);
  TORCH_CHECK(self.device().type() == c10::DeviceType::CPU, "cannot pin '", self.toString(), "' only dense CPU tensors can be pinned");
  Tensor made = at::detail::empty_strided_generic(
      self.sizes(), self.strides(), pinned_allocator(), DispatchKeySet(DispatchKey::CPU), self.scalar_type());
  made.copy_(self);
  torch::jit::drop(*stack, 2);
  stack->emplace_back(std::move(made));
}
#endif

void nothing(const OperatorHandle& op, DispatchKeySet, Stack* stack) {
  torch::jit::drop(*stack, op.schema().arguments().size());
}

// npuify_sim::default_generator(int device) -> Generator
void give_default_generator(const OperatorHandle& op, DispatchKeySet, Stack* stack) {
  auto device = argument<int64_t>(stack, 1, 0);
  torch::jit::drop(*stack, 1);
  stack->emplace_back(at::Generator(default_generator(int(device))));
}

// npuify_sim::learn_twin(__torch__.torch.classes.c10d.ProcessGroup twin) -> ()
void learn_twin(const OperatorHandle& op, DispatchKeySet, Stack* stack) {
  remember_twin(argument<IValue>(stack, 1, 0));
  torch::jit::drop(*stack, 1);
}

// npuify_sim::hold_works() -> (): from here on this thread's collectives are one bundle ...
void hold_works(const OperatorHandle& op, DispatchKeySet, Stack* stack) {
  bundle_works(true);
}

// npuify_sim::wait_for_works() -> (): ... which ends here, when all of them have.
void wait_for_works(const OperatorHandle& op, DispatchKeySet, Stack* stack) {
  bundle_works(false);
}

// ---- autocast -------------------------------------------------------------------------------------------------------

} // namespace
} // namespace npuify

// Declared here because its own header draws in all of ATen.
namespace at::autocast {
TORCH_API at::Tensor cached_cast(at::ScalarType to_type, const at::Tensor& arg, c10::DeviceType device_type);
#if NPUIFY_TORCH >= 204
TORCH_API at::ScalarType get_autocast_dtype(at::DeviceType device_type);
#else
TORCH_API at::ScalarType get_autocast_privateuseone_dtype();
TORCH_API void set_autocast_privateuseone_dtype(at::ScalarType dtype);
TORCH_API bool is_privateuseone_enabled();
TORCH_API void set_privateuseone_enabled(bool enabled);
#endif
} // namespace at::autocast

namespace npuify {
namespace {

at::ScalarType autocast_dtype() {
#if NPUIFY_TORCH >= 204
  return at::autocast::get_autocast_dtype(kNpu);
#else
  return at::autocast::get_autocast_privateuseone_dtype();
#endif
}

bool casts(const Tensor& t) {
  return t.defined() && t.device().type() == kNpu && t.is_floating_point() && t.scalar_type() != at::kDouble;
}

enum Cast { kLower = 0, kFloat = 1, kPromote = 2, kSetDtype = 3 };

template <int how>
void autocast(const OperatorHandle& op, DispatchKeySet keys, Stack* stack) {
  const auto& arguments = op.schema().arguments();
  const size_t base = stack->size() - arguments.size();
  at::ScalarType to = how == kLower ? autocast_dtype() : at::kFloat;
  bool apply = true;
  if (how == kPromote) {
    to = autocast_dtype();
    for (size_t i = 0; i < arguments.size(); i++) {
      each_tensor((*stack)[base + i], [&](const Tensor& t) {
        if (casts(t) && t.scalar_type() == at::kFloat) {
          to = at::kFloat;
        }
        return t;
      });
    }
  }
  c10::impl::ExcludeDispatchKeyGuard guard(DispatchKey::AutocastPrivateUse1);
  if (how == kSetDtype) {
    // Reductions that take an output type: float32 is asked for, where nothing is.
    apply = false;
    if (stack->size() > base && (*stack)[base].isTensor() && casts((*stack)[base].toTensor())) {
      for (size_t i = 0; i < arguments.size(); i++) {
        if (arguments[i].name() == "dtype" && (*stack)[base + i].isNone()) {
          (*stack)[base + i] = IValue(at::kFloat);
        }
      }
    }
  }
  for (size_t i = 0; apply && i < arguments.size(); i++) {
    each_tensor((*stack)[base + i], [&](const Tensor& t) {
      return t.defined() && casts(t) ? at::autocast::cached_cast(to, t, kNpu) : t;
    });
  }
  op.callBoxed(stack);
}

// ---- registration ---------------------------------------------------------------------------------------------------

using Boxed = void(const OperatorHandle&, DispatchKeySet, Stack*);

template <Boxed* f>
void implement(const c10::OperatorName& name, DispatchKey key) {
  // What this returns takes the kernel away again when it dies; the simulated device stays until the process ends.
  static auto* kept = new std::vector<c10::RegistrationHandleRAII>();
  kept->push_back(c10::Dispatcher::singleton().registerImpl(
      name, key, c10::KernelFunction::makeFromBoxedFunction<f>(), none, nullptr, "simulated by npuify"));
}

bool exists(const c10::OperatorName& name) {
  return c10::Dispatcher::singleton().findSchema(name).has_value();
}

template <Boxed* f>
void implement(const char* name, const char* overload) {
  c10::OperatorName full(name, overload);
  if (exists(full)) {
    implement<f>(full, DispatchKey::PrivateUse1);
  }
}

c10::OperatorName parse(const char* text) {
  std::string name(text);
  auto dot = name.find('.', name.find("::") + 2);
  return dot == std::string::npos ? c10::OperatorName(name, "") : c10::OperatorName(name.substr(0, dot), name.substr(dot + 1));
}

} // namespace
} // namespace npuify

using namespace npuify;

namespace {
struct Silence final : c10::WarningHandler {
  void process(const c10::Warning&) override {}
};
} // namespace

NPUIFY_API void npuify_register() {
  auto& dispatcher = c10::Dispatcher::singleton();
  // PyTorch's collectives have kernels for this device already, which expect a backend of its own; that they are replaced
  // is meant.
  static Silence silence;
  c10::WarningUtils::WarningHandlerGuard quiet(&silence);
  static auto* fallback = new c10::RegistrationHandleRAII(dispatcher.registerFallback(
      DispatchKey::PrivateUse1, c10::KernelFunction::makeFromBoxedFunction<&run_on_host>(), "simulated by npuify"));
  static auto* sparse = new c10::RegistrationHandleRAII(dispatcher.registerFallback(
      DispatchKey::SparsePrivateUse1, c10::KernelFunction::makeFromBoxedFunction<&run_sparse_on_host>(), "simulated by npuify"));
  // Up to 2.6 PyTorch leaves it to the backend to say that operators without a gradient of their own pass through.
  if (!dispatcher.hasBackendFallbackForDispatchKey(DispatchKey::AutogradPrivateUse1)) {
    static auto* through = new c10::RegistrationHandleRAII(dispatcher.registerFallback(
        DispatchKey::AutogradPrivateUse1, c10::KernelFunction::makeFallthrough(), "simulated by npuify"));
  }
#if NPUIFY_TORCH >= 200
  if (!dispatcher.hasBackendFallbackForDispatchKey(DispatchKey::AutocastPrivateUse1)) {
    static auto* through = new c10::RegistrationHandleRAII(dispatcher.registerFallback(
        DispatchKey::AutocastPrivateUse1, c10::KernelFunction::makeFallthrough(), "simulated by npuify"));
  }
#endif
  implement<&empty_memory_format>("aten::empty", "memory_format");
  implement<&empty_strided>("aten::empty_strided", "");
  implement<&set_storage>("aten::set_", "source_Storage_storage_offset");
  implement<&set_whole_storage>("aten::set_", "source_Storage");
  implement<&set_tensor>("aten::set_", "source_Tensor");
  implement<&may_take_data>("aten::_has_compatible_shallow_copy_type", "");
  implement<&may_take_data>(
      c10::OperatorName("aten::_has_compatible_shallow_copy_type", ""), DispatchKey::AutogradPrivateUse1);
  implement<&nothing>("aten::record_stream", "");
#if NPUIFY_TORCH < 205
  implement<&tell_pinned>(c10::OperatorName("aten::is_pinned", ""), DispatchKey::BackendSelect);
  implement<&pin>(c10::OperatorName("aten::_pin_memory", ""), DispatchKey::BackendSelect);
#endif
  static auto* copies = new c10::RegistrationHandleRAII(dispatcher.registerImpl(
      c10::OperatorName("aten::_to_copy", ""), DispatchKey::PrivateUse1, c10::KernelFunction::makeFromUnboxedRuntimeFunction(&to_copy),
      none, nullptr, "simulated by npuify"));
  implement<&give_default_generator>(c10::OperatorName("npuify_sim::default_generator", ""), DispatchKey::CompositeExplicitAutograd);
#ifdef NPUIFY_DISTRIBUTED
  implement<&hold_works>(c10::OperatorName("npuify_sim::hold_works", ""), DispatchKey::CompositeExplicitAutograd);
  implement<&wait_for_works>(c10::OperatorName("npuify_sim::wait_for_works", ""), DispatchKey::CompositeExplicitAutograd);
  implement<&learn_twin>(c10::OperatorName("npuify_sim::learn_twin", ""), DispatchKey::CompositeExplicitAutograd);
#endif
  for (const auto& name : dispatcher.getAllOpNames()) {
    if (name.name.rfind("c10d::", 0) == 0 && dispatcher.findSchema(name)) {
      implement<&run_on_host>(name, DispatchKey::PrivateUse1);
      continue;
    }
    auto op = dispatcher.findSchema(name);
    // PyTorch's own way for these takes several operators; the CPU kernel does them in one.
    if (op && op->hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutogradNonFunctional) &&
        !op->hasKernelForDispatchKey(DispatchKey::PrivateUse1) && op->hasKernelForDispatchKey(DispatchKey::CPU)) {
      implement<&run_on_host>(name, DispatchKey::PrivateUse1);
    }
  }
}

// Has this operator run as the CPU's in one piece although PyTorch could take it apart. Returns whether there is one.
NPUIFY_API int npuify_run_whole(const char* name) {
  auto full = parse(name);
  auto op = c10::Dispatcher::singleton().findSchema(full);
  if (!op || op->hasKernelForDispatchKey(DispatchKey::PrivateUse1)) {
    return 0;
  }
  implement<&run_on_host>(full, DispatchKey::PrivateUse1);
  return 1;
}

// Has this operator run on sparse tensors, of the layout COO or one of the compressed ones. Returns whether there is one.
NPUIFY_API int npuify_run_sparse(const char* name, int compressed) {
  auto full = parse(name);
  auto key = compressed ? kCompressed : DispatchKey::SparsePrivateUse1;
  if (key == DispatchKey::Undefined) {
    return 0;
  }
  auto op = c10::Dispatcher::singleton().findSchema(full);
  if (!op || op->hasKernelForDispatchKey(key)) {
    return 0;
  }
  implement<&run_on_host>(full, key);
  return 1;
}

// how: 0 lower precision, 1 float32, 2 the widest of its arguments, 3 float32 as output type.
NPUIFY_API int npuify_autocast(const char* name, int how) {
  auto full = parse(name);
  if (!exists(full)) {
    return 0;
  }
  auto key = DispatchKey::AutocastPrivateUse1;
  switch (how) {
    case kLower:
      implement<&autocast<kLower>>(full, key);
      break;
    case kFloat:
      implement<&autocast<kFloat>>(full, key);
      break;
    case kPromote:
      implement<&autocast<kPromote>>(full, key);
      break;
    default:
      implement<&autocast<kSetDtype>>(full, key);
  }
  return 1;
}

#if NPUIFY_TORCH < 204
NPUIFY_API int npuify_autocast_enabled() {
  return at::autocast::is_privateuseone_enabled() ? 1 : 0;
}

NPUIFY_API void npuify_set_autocast_enabled(int enable) {
  at::autocast::set_privateuseone_enabled(enable != 0);
}

NPUIFY_API int npuify_autocast_type() {
  return int(autocast_dtype());
}

NPUIFY_API void npuify_set_autocast_type(int type) {
  at::autocast::set_autocast_privateuseone_dtype(at::ScalarType(type));
}
#endif

NPUIFY_API void npuify_allow_cpu_tensors(const char* name) {
  std::lock_guard<std::mutex> lock(table_mutex);
  mixed_names.insert(name);
}

NPUIFY_API void npuify_take_only_npu(const char* name, const char* argument) {
  std::lock_guard<std::mutex> lock(table_mutex);
  npu_only_names[name].insert(argument);
}

NPUIFY_API void npuify_compute_in_float(const char* name) {
  std::lock_guard<std::mutex> lock(table_mutex);
  float_names.insert(name);
}

// Names with a kernel in the release, one a line.
NPUIFY_API void npuify_native_operators(const char* lines) {
  std::lock_guard<std::mutex> lock(table_mutex);
  std::string name;
  for (const char* p = lines;; p++) {
    if (*p == '\n' || *p == 0) {
      if (!name.empty()) {
        native_names.insert(name);
      }
      name.clear();
      if (*p == 0) {
        break;
      }
    } else {
      name += *p;
    }
  }
  knows_release = true;
}

NPUIFY_API void npuify_set_policy(int p) {
  policy = p;
}

// "aten::name 12" a line, of the operators without a kernel in the release that ran; returns the bytes needed.
NPUIFY_API int64_t npuify_host_runs(char* out, int64_t room) {
  std::string text;
  {
    std::lock_guard<std::mutex> lock(table_mutex);
    for (auto& entry : table) {
      if (entry.second->calls > 0) {
        text += entry.second->name + " " + std::to_string(entry.second->calls.load()) + "\n";
      }
    }
  }
  if (int64_t(text.size()) < room) {
    std::copy(text.begin(), text.end(), out);
    out[text.size()] = 0;
  }
  return int64_t(text.size()) + 1;
}
