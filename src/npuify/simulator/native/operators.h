// What operators need of torch.distributed; it stands in a translation unit of its own, because its headers are heavy.
#pragma once

#include <ATen/core/ivalue.h>

#include <string>
#include <utility>
#include <vector>

namespace npuify {

// The group of CPU processes that does the work of an "hccl" process group.
c10::IValue twin_of(const c10::IValue& group);
// Makes a group known as the twin of the NPU group that has the same backend.
void remember_twin(const c10::IValue& twin);
// Begins a bundle of this thread's collectives, or waits for all of them and ends it.
void bundle_works(bool begin);
// Work on CPU tensors becomes work whose results are the NPU tensors beside them in `pairs` (host, npu).
c10::IValue wrap_work(c10::IValue work, std::vector<std::pair<at::Tensor, at::Tensor>> pairs);
// Raises for a reduction that HCCL refuses; the arguments are the last `count` of the stack.
void check_reduction(const std::string& name, size_t count, const std::vector<c10::IValue>& stack);
// Does a collective that this PyTorch's gloo does wrong, or not at all: takes the `count` arguments from the stack, and puts
// the results there. False: gloo may do it, with the arguments as they are now.
bool collective_by_other_means(const std::string& name, size_t count, std::vector<c10::IValue>* stack);

} // namespace npuify
