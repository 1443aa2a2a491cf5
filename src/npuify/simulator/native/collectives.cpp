// torch.distributed: a process group "hccl" owns NPU tensors only; a twin of it, a group of CPU processes with the same
// backend (gloo), does the work on the same memory.
#include "operators.h"

#ifdef NPUIFY_DISTRIBUTED

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include <mutex>
#include <unordered_map>

namespace npuify {
namespace {

using c10::IValue;
using c10d::ProcessGroup;
using c10d::Work;
using Pairs = std::vector<std::pair<at::Tensor, at::Tensor>>;

thread_local bool bundling = false;
thread_local std::vector<c10::intrusive_ptr<Work>> bundle;
std::mutex twins_mutex;
std::unordered_map<const void*, IValue> twins;

at::Tensor npu_of(const at::Tensor& t, const Pairs& pairs) {
  for (const auto& p : pairs) {
    if (p.first.is_same(t)) {
      return p.second;
    }
  }
  for (const auto& p : pairs) {
    if (p.first.defined() && t.defined() && p.first.storage().unsafeGetStorageImpl() == t.storage().unsafeGetStorageImpl()) {
      return p.second.as_strided(t.sizes(), t.strides(), t.storage_offset());
    }
  }
  return t;
}

IValue npu_of(const IValue& value, const Pairs& pairs) {
  if (value.isTensor()) {
    return npu_of(value.toTensor(), pairs);
  }
  if (value.isTensorList()) {
    c10::List<at::Tensor> made;
    for (const at::Tensor& t : value.toTensorVector()) {
      made.push_back(npu_of(t, pairs));
    }
    return made;
  }
  return value;
}

class NpuWork final : public Work {
 public:
  NpuWork(c10::intrusive_ptr<Work> work, Pairs pairs)
      : Work(-1, work->retrieveOpType()), work_(std::move(work)), pairs_(std::move(pairs)) {}
  bool isCompleted() override {
    return work_->isCompleted();
  }
  bool isSuccess() const override {
    return work_->isSuccess();
  }
  std::exception_ptr exception() const override {
    return work_->exception();
  }
  int sourceRank() const override {
    return work_->sourceRank();
  }
  std::vector<at::Tensor> result() override {
    std::vector<at::Tensor> made;
    for (const auto& t : work_->result()) {
      made.push_back(npu_of(t, pairs_));
    }
    return made;
  }
  void synchronize() override {
    work_->wait();
  }
  bool wait(std::chrono::milliseconds timeout = std::chrono::milliseconds(0)) override {
    return work_->wait(timeout);
  }
  void abort() override {
    work_->abort();
  }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override {
    auto inner = work_->getFuture();
    auto pairs = pairs_;
    return inner->then(
        [pairs](c10::ivalue::Future& done) { return npu_of(done.value(), pairs); }, inner->elementType());
  }

 private:
  c10::intrusive_ptr<Work> work_;
  Pairs pairs_;
};

} // namespace

void remember_twin(const IValue& twin) {
  auto group = twin.toCustomClass<ProcessGroup>();
  const void* key = group->getBackend(c10::DeviceType::CPU).get();
  std::lock_guard<std::mutex> lock(twins_mutex);
  twins.insert_or_assign(key, twin);
}

IValue twin_of(const IValue& value) {
  if (!value.type()->isSubtypeOf(*c10::getCustomClassType<c10::intrusive_ptr<ProcessGroup>>())) {
    return value;
  }
  auto group = value.toCustomClass<ProcessGroup>();
  const void* key = group->getBackend(c10::DeviceType::PrivateUse1).get();
  std::lock_guard<std::mutex> lock(twins_mutex);
  auto found = twins.find(key);
  TORCH_CHECK(found != twins.end(), "NPU tensors need a process group of backend hccl (simulated by npuify)");
  return found->second;
}

IValue wrap_work(IValue work, Pairs pairs) {
  if (!work.type()->isSubtypeOf(*c10::getCustomClassType<c10::intrusive_ptr<Work>>())) {
    return work;
  }
  c10::intrusive_ptr<Work> made = c10::make_intrusive<NpuWork>(work.toCustomClass<Work>(), std::move(pairs));
  if (bundling) {
    bundle.push_back(made);
  }
  return IValue(std::move(made));
}

void bundle_works(bool begin) {
  auto works = std::move(bundle);
  bundle.clear();
  bundling = begin;
  for (auto& work : works) {
    work->wait();
  }
}

} // namespace npuify

#else

namespace npuify {
void remember_twin(const c10::IValue&) {}
void bundle_works(bool) {}
c10::IValue twin_of(const c10::IValue& group) {
  return group;
}
c10::IValue wrap_work(c10::IValue work, std::vector<std::pair<at::Tensor, at::Tensor>>) {
  return work;
}
} // namespace npuify

#endif
