// torch.distributed: a process group "hccl" owns NPU tensors only; a twin of it, a group of CPU processes with the same
// backend (gloo), does the work on the same memory.
#include "operators.h"

#ifdef NPUIFY_DISTRIBUTED

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include <ATen/ops/cat.h>

#include <cstdlib>
#include <cstring>
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

namespace {

c10d::ReduceOp operation_of(const IValue& value) {
  return *value.toCustomClass<c10d::ReduceOp>();
}

} // namespace

// Gloo combines bits, HCCL does not (Ascend/pytorch, ProcessGroupHCCL.cpp, unsupportedOp); nor does it reduce float64,
// but on an Ascend950 (checkSupportedDataType, from the releases for torch 2.1 on).
void check_reduction(const std::string& name, size_t count, const std::vector<c10::IValue>& stack) {
  const bool reduces = name == "c10d::allreduce_" || name == "c10d::allreduce_coalesced_" || name == "c10d::reduce_";
  if (!reduces && name.rfind("c10d::reduce_scatter_", 0) != 0 && name != "c10d::_reduce_scatter_base_") {
    return;
  }
  const auto op = operation_of(stack[stack.size() - count + (reduces ? 2 : 3)]);
  const char* bits = op == c10d::ReduceOp::BAND ? "BAND"
      : op == c10d::ReduceOp::BOR               ? "BOR"
      : op == c10d::ReduceOp::BXOR              ? "BXOR"
                                                : nullptr;
  TORCH_CHECK(bits == nullptr, "Cannot use ReduceOp.", bits, " with HCCL (simulated by npuify)");
  const char* soc = std::getenv("NPUIFY_SIMULATE_SOC");
  if (soc != nullptr && std::strncmp(soc, "Ascend950", 9) == 0) {
    return;
  }
  const IValue& given = stack[stack.size() - count + (reduces ? 0 : 1)];
  at::Tensor first;
  if (given.isTensor()) {
    first = given.toTensor();
  } else if (given.isTensorList() && !given.toTensorList().empty()) {
    first = given.toTensorList().get(0);
  } else if (given.isList() && !given.toListRef().empty() && given.toListRef()[0].isTensorList()) {
    first = given.toListRef()[0].toTensorList().get(0);
  }
  TORCH_CHECK(
      !first.defined() || first.scalar_type() != at::kDouble,
      "HCCL ", name.substr(7), ": Unsupported data type at::kDouble (simulated by npuify)");
}

#if NPUIFY_TORCH < 209
// Up to torch 2.8 gloo adds up in reduce_scatter, whatever was asked for; up to 2.7 it knows no average, and no
// reduce_scatter of lists. FSDP averages by reduce_scatter_tensor: gradients would be too large by the number of processes.
namespace {

void reduce_and_take(ProcessGroup& group, c10d::ReduceOp op, const at::Tensor& out, at::Tensor whole) {
  if (op == c10d::ReduceOp::AVG) {
    whole.div_(group.getSize());
    op = c10d::ReduceOp::SUM;
  }
  std::vector<at::Tensor> all{whole};
  c10d::AllreduceOptions options;
  options.reduceOp = op;
  group.allreduce(all, options)->wait();
  out.copy_(whole.view({group.getSize(), -1}).select(0, group.getRank()).view(out.sizes()));
}

} // namespace

bool collective_by_other_means(const std::string& name, size_t count, std::vector<c10::IValue>* stack) {
  const auto at = [&](size_t i) -> IValue& { return (*stack)[stack->size() - count + i]; };
  if (name == "c10d::allreduce_" || name == "c10d::allreduce_coalesced_" || name == "c10d::reduce_") {
    if (operation_of(at(2)) == c10d::ReduceOp::AVG) {
      auto group = at(1).toCustomClass<ProcessGroup>();
      for (at::Tensor t : at(0).toTensorVector()) {
        t.div_(group->getSize());
      }
      at(2) = IValue(c10::make_intrusive<c10d::ReduceOp>(c10d::ReduceOp::SUM));
    }
    return false;
  }
  const bool one = name == "c10d::_reduce_scatter_base_", lists = name == "c10d::reduce_scatter_";
  if (!one && !lists && name != "c10d::reduce_scatter_tensor_coalesced_") {
    return false;
  }
  auto group = at(2).toCustomClass<ProcessGroup>();
  const auto op = operation_of(at(3));
  std::vector<at::Tensor> outs = one ? std::vector<at::Tensor>{at(0).toTensor()} : at(0).toTensorVector();
  for (size_t i = 0; i < outs.size(); i++) {
    at::Tensor whole;
    if (lists) {
      std::vector<at::Tensor> parts;
      for (const at::Tensor& part : at(1).toList().get(i).toTensorVector()) {
        TORCH_CHECK(part.numel() == outs[i].numel(), "reduce_scatter needs parts of one size (simulated by npuify)");
        parts.push_back(part.reshape(-1));
      }
      whole = at::cat(parts);
    } else {
      whole = (one ? at(1).toTensor() : at(1).toTensorVector()[i]).clone(at::MemoryFormat::Contiguous);
    }
    reduce_and_take(*group, op, outs[i], std::move(whole));
  }
  auto done = c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()));
  done->markCompleted(IValue(outs));
  std::vector<IValue> results;
  if (one) {
    results.emplace_back(outs[0]);
  } else if (lists) {
    results.emplace_back(outs);
  }
  results.emplace_back(Work::create_from_future(done));
  torch::jit::drop(*stack, count);
  stack->insert(stack->end(), results.begin(), results.end());
  return true;
}
#else
bool collective_by_other_means(const std::string&, size_t, std::vector<c10::IValue>*) {
  return false;
}
#endif

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
void check_reduction(const std::string&, size_t, const std::vector<c10::IValue>&) {}
bool collective_by_other_means(const std::string&, size_t, std::vector<c10::IValue>*) {
  return false;
}
c10::IValue twin_of(const c10::IValue& group) {
  return group;
}
c10::IValue wrap_work(c10::IValue work, std::vector<std::pair<at::Tensor, at::Tensor>>) {
  return work;
}
} // namespace npuify

#endif
