// Memory of a device, which is memory of the host with a count kept of it.

#include "runtime.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

using namespace stand_in;

namespace stand_in {
extern thread_local int32_t current_device;

namespace {
constexpr size_t kAlignment = 512;

struct Block {
    int32_t device;
    size_t size;
};

struct Book {
    std::mutex guard;
    std::map<void*, Block> blocks;
    std::map<int32_t, size_t> used;
};

Book& book() {
    static auto* made = new Book();  // never destroyed: memory may be given back while the process ends
    return *made;
}

Code allocate(void** out, size_t size) {
    if (current_device < 0) {
        return kContextNull;
    }
    if (size == 0) {
        return kParamInvalid;
    }
    Book& kept = book();
    const std::lock_guard<std::mutex> lock(kept.guard);
    size_t& used = kept.used[current_device];
    if (size > settings().memory - used) {
        return kMemoryAllocation;
    }
    const size_t rounded = (size + kAlignment - 1) / kAlignment * kAlignment;
    void* memory = std::aligned_alloc(kAlignment, rounded);
    if (memory == nullptr) {
        return kMemoryAllocation;
    }
    used += size;
    kept.blocks[memory] = {current_device, size};
    *out = memory;
    return kSuccess;
}

Code release(void* memory) {
    Book& kept = book();
    const std::lock_guard<std::mutex> lock(kept.guard);
    const auto found = kept.blocks.find(memory);
    if (found == kept.blocks.end()) {
        return kParamInvalid;
    }
    kept.used[found->second.device] -= found->second.size;
    kept.blocks.erase(found);
    std::free(memory);
    return kSuccess;
}

Code copy(void* to, size_t room, const void* from, size_t count) {
    if (count > room) {
        return kParamInvalid;
    }
    std::memmove(to, from, count);
    return kSuccess;
}
}  // namespace
}  // namespace stand_in

STAND_IN_EXPORT Code aclrtMalloc(void** out, size_t size, int) {
    STAND_IN_ENTER();
    return allocate(out, size);
}

STAND_IN_EXPORT Code aclrtMallocAlign32(void** out, size_t size, int) {
    STAND_IN_ENTER();
    return allocate(out, size);
}

STAND_IN_EXPORT Code aclrtFree(void* memory) {
    STAND_IN_ENTER();
    return release(memory);
}

STAND_IN_EXPORT Code aclrtMallocHost(void** out, size_t size) {
    STAND_IN_ENTER();
    *out = std::malloc(size);
    return *out != nullptr ? kSuccess : kMemoryAllocation;
}

STAND_IN_EXPORT Code aclrtMallocHostWithCfg(void** out, uint64_t size, void*) {
    STAND_IN_ENTER();
    *out = std::malloc(size);
    return *out != nullptr ? kSuccess : kMemoryAllocation;
}

STAND_IN_EXPORT Code aclrtFreeHost(void* memory) {
    STAND_IN_ENTER();
    std::free(memory);
    return kSuccess;
}

STAND_IN_EXPORT Code aclrtGetMemInfo(int, size_t* free, size_t* total) {
    STAND_IN_ENTER();
    if (current_device < 0) {
        return kContextNull;
    }
    Book& kept = book();
    const std::lock_guard<std::mutex> lock(kept.guard);
    *total = settings().memory;
    *free = settings().memory - kept.used[current_device];
    return kSuccess;
}

STAND_IN_EXPORT Code aclrtMemcpy(void* to, size_t room, const void* from, size_t count, int) {
    STAND_IN_ENTER();
    return copy(to, room, from, count);
}

STAND_IN_EXPORT Code aclrtMemcpyAsync(void* to, size_t room, const void* from, size_t count, int, void*) {
    STAND_IN_ENTER();
    return copy(to, room, from, count);
}

STAND_IN_EXPORT Code aclrtMemcpyAsyncWithCondition(void* to, size_t room, const void* from, size_t count, int, void*) {
    STAND_IN_ENTER();
    return copy(to, room, from, count);
}

STAND_IN_EXPORT Code aclrtMemset(void* memory, size_t room, int32_t value, size_t count) {
    STAND_IN_ENTER();
    if (count > room) {
        return kParamInvalid;
    }
    std::memset(memory, value, count);
    return kSuccess;
}

STAND_IN_EXPORT Code aclrtMemsetAsync(void* memory, size_t room, int32_t value, size_t count, void*) {
    return aclrtMemset(memory, room, value, count);
}

// aclrtPtrAttributes begins with the place: an id, then a type, of which 1 is a device and 2 memory nobody registered.
STAND_IN_EXPORT Code aclrtPointerGetAttributes(const void* pointer, uint32_t* attributes) {
    STAND_IN_ENTER();
    Book& kept = book();
    const std::lock_guard<std::mutex> lock(kept.guard);
    auto after = kept.blocks.upper_bound(const_cast<void*>(pointer));
    const bool known = after != kept.blocks.begin() && [&] {
        const auto& [start, block] = *std::prev(after);
        return static_cast<const char*>(pointer) < static_cast<const char*>(start) + block.size;
    }();
    attributes[0] = known ? static_cast<uint32_t>(std::prev(after)->second.device) : 0;
    attributes[1] = known ? 1 : 2;
    return kSuccess;
}
