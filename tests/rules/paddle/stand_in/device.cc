// A custom device of PaddlePaddle called npu, on the host's memory: it has no kernels, so that Paddle takes the CPU's.
// How many there are says NPUIFY_STAND_IN_DEVICES. Built against the headers that Paddle's wheel brings.
#include <cstdlib>
#include <cstring>

#include "paddle/phi/backends/device_ext.h"

namespace {

char device_type[] = "npu";
char sub_device_type[] = "stand-in";
int current = 0;

size_t devices() {
  const char* given = std::getenv("NPUIFY_STAND_IN_DEVICES");
  return given == nullptr ? 1 : static_cast<size_t>(std::atoi(given));
}

C_Status nothing() { return C_SUCCESS; }
C_Status on_device(const C_Device) { return C_SUCCESS; }

C_Status set_device(const C_Device device) {
  current = device->id;
  return C_SUCCESS;
}

C_Status get_device(const C_Device device) {
  device->id = current;
  return C_SUCCESS;
}

C_Status device_count(size_t* count) {
  *count = devices();
  return C_SUCCESS;
}

C_Status device_list(size_t* list) {
  for (size_t at = 0; at < devices(); ++at) list[at] = at;
  return C_SUCCESS;
}

C_Status copy(const C_Device, void* to, const void* from, size_t size) {
  std::memcpy(to, from, size);
  return C_SUCCESS;
}

C_Status copy_later(const C_Device, C_Stream, void* to, const void* from, size_t size) {
  std::memcpy(to, from, size);
  return C_SUCCESS;
}

C_Status allocate(const C_Device, void** memory, size_t size) {
  *memory = std::malloc(size);
  return *memory == nullptr ? C_FAILED : C_SUCCESS;
}

C_Status release(const C_Device, void* memory, size_t) {
  std::free(memory);
  return C_SUCCESS;
}

C_Status make_stream(const C_Device, C_Stream* stream) {
  *stream = nullptr;
  return C_SUCCESS;
}

C_Status make_event(const C_Device, C_Event* event) {
  *event = nullptr;
  return C_SUCCESS;
}

C_Status on_stream(const C_Device, C_Stream) { return C_SUCCESS; }
C_Status on_event(const C_Device, C_Event) { return C_SUCCESS; }
C_Status stream_and_event(const C_Device, C_Stream, C_Event) { return C_SUCCESS; }

C_Status memory(const C_Device, size_t* total, size_t* free_memory) {
  *total = static_cast<size_t>(8) << 30;
  *free_memory = *total;
  return C_SUCCESS;
}

C_Status chunk(const C_Device, size_t* size) {
  *size = 64 << 20;
  return C_SUCCESS;
}

C_Status smallest_chunk(const C_Device, size_t* size) {
  *size = 512;
  return C_SUCCESS;
}

}  // namespace

extern "C" void InitPlugin(CustomRuntimeParams* params) {
  PADDLE_CUSTOM_RUNTIME_CHECK_VERSION(params);
  params->device_type = device_type;
  params->sub_device_type = sub_device_type;
  C_DeviceInterface* device = params->interface;
  std::memset(device, 0, sizeof(C_DeviceInterface));
  device->size = sizeof(C_DeviceInterface);
  device->initialize = nothing;
  device->finalize = nothing;
  device->init_device = on_device;
  device->set_device = set_device;
  device->get_device = get_device;
  device->deinit_device = on_device;
  device->create_stream = make_stream;
  device->destroy_stream = on_stream;
  device->create_event = make_event;
  device->destroy_event = on_event;
  device->record_event = stream_and_event;
  device->synchronize_device = on_device;
  device->synchronize_stream = on_stream;
  device->synchronize_event = on_event;
  device->stream_wait_event = stream_and_event;
  device->memory_copy_h2d = copy;
  device->memory_copy_d2d = copy;
  device->memory_copy_d2h = copy;
  device->async_memory_copy_h2d = copy_later;
  device->async_memory_copy_d2d = copy_later;
  device->async_memory_copy_d2h = copy_later;
  device->device_memory_allocate = allocate;
  device->host_memory_allocate = allocate;
  device->unified_memory_allocate = allocate;
  device->device_memory_deallocate = release;
  device->host_memory_deallocate = release;
  device->unified_memory_deallocate = release;
  device->get_device_count = device_count;
  device->get_device_list = device_list;
  device->device_memory_stats = memory;
  device->device_max_chunk_size = chunk;
  device->device_max_alloc_size = chunk;
  device->device_min_chunk_size = smallest_chunk;
}
