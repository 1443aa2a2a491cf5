// Streams and events. All work is done when the call returns, so that a stream is always empty.

#include "runtime.h"

#include <atomic>
#include <mutex>

using namespace stand_in;

namespace {
struct Stream {
    int32_t id;
    uint32_t priority;
    uint32_t flags;
};

struct Event {
    std::atomic<double> recorded_ms{-1.0};
};

std::atomic<int32_t> next_stream{1};
}  // namespace

STAND_IN_EXPORT Code aclrtCreateStreamWithConfig(void** out, uint32_t priority, uint32_t flags) {
    STAND_IN_ENTER();
    *out = new Stream{next_stream++, priority, flags};
    return kSuccess;
}

STAND_IN_EXPORT Code aclrtCreateStream(void** out) {
    STAND_IN_ENTER();
    *out = new Stream{next_stream++, 0, 0};
    return kSuccess;
}

STAND_IN_EXPORT Code aclrtDestroyStream(void* stream) {
    STAND_IN_ENTER();
    delete static_cast<Stream*>(stream);
    return kSuccess;
}

STAND_IN_EXPORT Code aclrtDestroyStreamForce(void* stream) {
    return aclrtDestroyStream(stream);
}

STAND_IN_EXPORT Code aclrtSynchronizeStream(void*) {
    STAND_IN_ENTER();
    return kSuccess;
}

STAND_IN_EXPORT Code aclrtSynchronizeStreamWithTimeout(void*, int32_t) {
    STAND_IN_ENTER();
    return kSuccess;
}

STAND_IN_EXPORT Code aclrtStreamQuery(void*, int* status) {
    STAND_IN_ENTER();
    *status = 0;  // ACL_STREAM_STATUS_COMPLETE
    return kSuccess;
}

STAND_IN_EXPORT Code aclrtStreamGetId(void* stream, int32_t* id) {
    STAND_IN_ENTER();
    *id = stream != nullptr ? static_cast<Stream*>(stream)->id : 0;
    return kSuccess;
}

STAND_IN_EXPORT Code aclrtStreamWaitEvent(void*, void*) {
    STAND_IN_ENTER();
    return kSuccess;
}

STAND_IN_EXPORT Code aclrtSetStreamFailureMode(void*, uint64_t) {
    STAND_IN_ENTER();
    return kSuccess;
}

STAND_IN_EXPORT Code aclrtSetStreamOverflowSwitch(void*, uint32_t) {
    STAND_IN_ENTER();
    return kSuccess;
}

STAND_IN_EXPORT Code aclrtSetStreamAttribute(void*, int, void*) {
    STAND_IN_ENTER();
    return kSuccess;
}

STAND_IN_EXPORT Code aclrtCreateEventExWithFlag(void** out, uint32_t) {
    STAND_IN_ENTER();
    *out = new Event();
    return kSuccess;
}

STAND_IN_EXPORT Code aclrtCreateEventWithFlag(void** out, uint32_t) {
    STAND_IN_ENTER();
    *out = new Event();
    return kSuccess;
}

STAND_IN_EXPORT Code aclrtCreateEvent(void** out) {
    STAND_IN_ENTER();
    *out = new Event();
    return kSuccess;
}

STAND_IN_EXPORT Code aclrtDestroyEvent(void* event) {
    STAND_IN_ENTER();
    delete static_cast<Event*>(event);
    return kSuccess;
}

STAND_IN_EXPORT Code aclrtRecordEvent(void* event, void*) {
    STAND_IN_ENTER();
    static_cast<Event*>(event)->recorded_ms = now_ms();
    return kSuccess;
}

STAND_IN_EXPORT Code aclrtResetEvent(void* event, void*) {
    STAND_IN_ENTER();
    static_cast<Event*>(event)->recorded_ms = -1.0;
    return kSuccess;
}

STAND_IN_EXPORT Code aclrtQueryEventStatus(void*, int* status) {
    STAND_IN_ENTER();
    *status = 1;  // ACL_EVENT_RECORDED_STATUS_COMPLETE
    return kSuccess;
}

STAND_IN_EXPORT Code aclrtQueryEvent(void*, int* status) {
    STAND_IN_ENTER();
    *status = 0;  // ACL_EVENT_STATUS_COMPLETE
    return kSuccess;
}

STAND_IN_EXPORT Code aclrtQueryEventWaitStatus(void*, int* status) {
    STAND_IN_ENTER();
    *status = 0;  // ACL_EVENT_WAIT_STATUS_COMPLETE
    return kSuccess;
}

STAND_IN_EXPORT Code aclrtSynchronizeEvent(void*) {
    STAND_IN_ENTER();
    return kSuccess;
}

STAND_IN_EXPORT Code aclrtEventElapsedTime(float* ms, void* start, void* end) {
    STAND_IN_ENTER();
    const double from = static_cast<Event*>(start)->recorded_ms;
    const double to = static_cast<Event*>(end)->recorded_ms;
    if (from < 0 || to < 0) {
        return kParamInvalid;
    }
    *ms = static_cast<float>(to - from);
    return kSuccess;
}

STAND_IN_EXPORT Code aclrtEventGetTimestamp(void* event, uint64_t* timestamp) {
    STAND_IN_ENTER();
    *timestamp = static_cast<uint64_t>(static_cast<Event*>(event)->recorded_ms * 1000);
    return kSuccess;
}
