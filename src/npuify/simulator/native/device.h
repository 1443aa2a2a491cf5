// What the translation units of the simulated NPU share. The program is driven from Python through the extern "C"
// functions; no Python header is needed. NPUIFY_TORCH is 100 * major + minor of the torch that it is compiled for.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/Device.h>
#include <c10/core/GeneratorImpl.h>
#include <c10/core/Storage.h>
#include <c10/core/StorageImpl.h>
#include <c10/util/intrusive_ptr.h>

#include <cstdint>
#include <string>

#define NPUIFY_API extern "C" __attribute__((visibility("default")))

namespace npuify {

constexpr c10::DeviceType kNpu = c10::DeviceType::PrivateUse1;
constexpr int kMostDevices = 64;

// One piece of device memory: host memory that a CPU storage owns. It is the context of the NPU storage's DataPtr, so an
// operator finds the CPU storage of the same bytes without making one.
struct Block {
  c10::intrusive_ptr<c10::StorageImpl> host;
  size_t bytes = 0;
  int device = 0;
  Block* previous = nullptr;
  Block* next = nullptr;
};

int device_count();
int current_device();
void set_current_device(int device);
// The index that a device argument means: that of the current device where it has none.
int index_of(c10::Device device);

c10::Allocator* npu_allocator();
// Memory of the host that is pinned, which is noted and nothing else.
c10::Allocator* pinned_allocator();
bool is_pinned(const void* data);
// Host memory that the CPU allocator made becomes memory of a device; the bytes stay where they are.
c10::DataPtr adopt(c10::intrusive_ptr<c10::StorageImpl> host, int device);
// The CPU storage with the same bytes, shared by all that ask.
c10::intrusive_ptr<c10::StorageImpl> host_storage(c10::StorageImpl* storage);

// Random numbers: operators draw from the CPU generator that stands behind the NPU's, which is seeded anew for each of them.
c10::intrusive_ptr<c10::GeneratorImpl> host_generator(c10::GeneratorImpl* npu);
c10::intrusive_ptr<c10::GeneratorImpl> default_generator(int device);
bool shares_cpu_random_numbers();

} // namespace npuify
