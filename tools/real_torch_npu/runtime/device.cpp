// Starting and ending, devices, contexts, and what is asked about a device.

#include "runtime.h"

#include <cstdlib>
#include <cstring>
#include <mutex>

using namespace stand_in;

namespace stand_in {
// One context per device; a pointer into this array stands for it.
constexpr int32_t kMostDevices = 64;
char contexts[kMostDevices];
thread_local int32_t current_device = -1;

bool exists(int32_t device) {
    return device >= 0 && device < settings().devices && device < kMostDevices;
}
}  // namespace stand_in

STAND_IN_EXPORT Code aclInit(const char*) {
    STAND_IN_ENTER();
    static std::once_flag once;
    Code code = kRepeatInitialize;
    std::call_once(once, [&] { code = kSuccess; });
    return code;
}

STAND_IN_EXPORT Code aclFinalize() {
    STAND_IN_ENTER();
    return kSuccess;
}

STAND_IN_EXPORT const char* aclGetRecentErrMsg() {
    entered(__func__);
    return nullptr;
}

STAND_IN_EXPORT Code aclrtGetDeviceCount(uint32_t* count) {
    STAND_IN_ENTER();
    *count = static_cast<uint32_t>(settings().devices);
    return kSuccess;
}

STAND_IN_EXPORT Code aclrtSetDevice(int32_t device) {
    STAND_IN_ENTER();
    if (!exists(device)) {
        return kInvalidDevice;
    }
    current_device = device;
    return kSuccess;
}

STAND_IN_EXPORT Code aclrtGetDevice(int32_t* device) {
    STAND_IN_ENTER();
    if (current_device < 0) {
        return kContextNull;
    }
    *device = current_device;
    return kSuccess;
}

STAND_IN_EXPORT Code aclrtResetDevice(int32_t device) {
    STAND_IN_ENTER();
    if (!exists(device)) {
        return kInvalidDevice;
    }
    if (current_device == device) {
        current_device = -1;
    }
    return kSuccess;
}

STAND_IN_EXPORT Code aclrtResetDeviceForce(int32_t device) {
    STAND_IN_ENTER();
    return exists(device) ? kSuccess : kInvalidDevice;
}

STAND_IN_EXPORT Code aclrtSynchronizeDevice() {
    STAND_IN_ENTER();
    return kSuccess;
}

STAND_IN_EXPORT Code aclrtSynchronizeDeviceWithTimeout(int32_t) {
    STAND_IN_ENTER();
    return kSuccess;
}

STAND_IN_EXPORT Code aclrtGetCurrentContext(void** context) {
    STAND_IN_ENTER();
    if (current_device < 0) {
        return kContextNull;
    }
    *context = &contexts[current_device];
    return kSuccess;
}

STAND_IN_EXPORT Code aclrtSetCurrentContext(void* context) {
    STAND_IN_ENTER();
    const auto index = static_cast<char*>(context) - contexts;
    if (context == nullptr || index < 0 || index >= kMostDevices) {
        return kContextNull;
    }
    current_device = static_cast<int32_t>(index);
    return kSuccess;
}

STAND_IN_EXPORT Code aclrtGetPrimaryCtxState(int32_t device, uint32_t* flags, int32_t* active) {
    STAND_IN_ENTER();
    if (flags != nullptr) {
        *flags = 0;
    }
    *active = device == current_device ? 1 : 0;
    return kSuccess;
}

STAND_IN_EXPORT const char* aclrtGetSocName() {
    entered(__func__);
    return settings().soc;
}

// Some numbers: which of them a property of torch_npu gives is learnt, not how large it is.
STAND_IN_EXPORT Code aclGetDeviceCapability(uint32_t device, int which, int64_t* value) {
    STAND_IN_ENTER();
    if (!exists(static_cast<int32_t>(device))) {
        return kInvalidDevice;
    }
    constexpr int64_t kCubeCores = 20, kVectorCores = 40, kL2Bytes = int64_t{192} << 20;
    constexpr int64_t kValues[] = {kCubeCores, kVectorCores, kL2Bytes};
    *value = which >= 0 && which < 3 ? kValues[which] : 1;
    return kSuccess;
}

STAND_IN_EXPORT Code aclrtGetDeviceInfo(uint32_t device, int which, int64_t* value) {
    STAND_IN_ENTER();
    if (!exists(static_cast<int32_t>(device))) {
        return kInvalidDevice;
    }
    *value = 1000 + which;
    return kSuccess;
}

STAND_IN_EXPORT Code aclrtGetLogicDevIdByUserDevId(const int32_t user, int32_t* const logic) {
    STAND_IN_ENTER();
    *logic = user;
    return exists(user) ? kSuccess : kInvalidDevice;
}

STAND_IN_EXPORT Code aclrtDeviceGetUuid(int32_t device, void* uuid) {
    STAND_IN_ENTER();
    std::memset(uuid, 0, 16);
    static_cast<char*>(uuid)[15] = static_cast<char>(device);
    return exists(device) ? kSuccess : kInvalidDevice;
}

STAND_IN_EXPORT Code aclrtDeviceCanAccessPeer(int32_t* can, int32_t device, int32_t peer) {
    STAND_IN_ENTER();
    *can = device != peer ? 1 : 0;
    return exists(device) && exists(peer) ? kSuccess : kInvalidDevice;
}

STAND_IN_EXPORT Code aclrtDeviceEnablePeerAccess(int32_t peer, uint32_t) {
    STAND_IN_ENTER();
    return exists(peer) ? kSuccess : kInvalidDevice;
}

STAND_IN_EXPORT Code aclrtDeviceGetBareTgid(int32_t* pid) {
    STAND_IN_ENTER();
    *pid = 1;
    return kSuccess;
}

STAND_IN_EXPORT Code aclrtGetRunMode(int* mode) {
    STAND_IN_ENTER();
    *mode = 1;  // ACL_HOST
    return kSuccess;
}

STAND_IN_EXPORT Code aclrtQueryDeviceStatus(int32_t device, int* status) {
    STAND_IN_ENTER();
    *status = 0;  // ACL_RT_DEVICE_STATUS_NORMAL
    return exists(device) ? kSuccess : kInvalidDevice;
}

STAND_IN_EXPORT Code aclrtPeekAtLastError(int) {
    STAND_IN_ENTER();
    return kSuccess;
}

STAND_IN_EXPORT Code aclrtGetLastError(int) {
    STAND_IN_ENTER();
    return kSuccess;
}

STAND_IN_EXPORT Code aclrtSetDeviceSatMode(int) {
    STAND_IN_ENTER();
    return kSuccess;
}

STAND_IN_EXPORT Code aclrtSetOpWaitTimeout(uint32_t) {
    STAND_IN_ENTER();
    return kSuccess;
}

STAND_IN_EXPORT Code aclrtSetOpExecuteTimeOut(uint32_t) {
    STAND_IN_ENTER();
    return kSuccess;
}

STAND_IN_EXPORT Code aclrtSetOpExecuteTimeOutV2(uint64_t timeout, uint64_t* actual) {
    STAND_IN_ENTER();
    *actual = timeout;
    return kSuccess;
}
