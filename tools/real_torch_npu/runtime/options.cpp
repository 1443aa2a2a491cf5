// Options of the operator compiler and of the system: what was set is what is read.

#include "runtime.h"

#include <cstring>
#include <map>
#include <mutex>
#include <string>

using namespace stand_in;

namespace {
std::mutex guard;

std::string& option(int which) {
    static auto* const values = new std::map<int, std::string>();
    return values->emplace(which, "disable").first->second;
}

int64_t& system_parameter(int which) {
    static auto* const values = new std::map<int, int64_t>();
    return (*values)[which];
}
}  // namespace

STAND_IN_EXPORT Code aclSetCompileopt(int which, const char* value) {
    STAND_IN_ENTER();
    const std::lock_guard<std::mutex> lock(guard);
    option(which) = value;
    return kSuccess;
}

STAND_IN_EXPORT size_t aclGetCompileoptSize(int which) {
    entered(__func__);
    const std::lock_guard<std::mutex> lock(guard);
    return option(which).size() + 1;
}

STAND_IN_EXPORT Code aclGetCompileopt(int which, char* value, size_t room) {
    STAND_IN_ENTER();
    const std::lock_guard<std::mutex> lock(guard);
    const std::string& text = option(which);
    if (room < text.size() + 1) {
        return kParamInvalid;
    }
    std::memcpy(value, text.c_str(), text.size() + 1);
    return kSuccess;
}

STAND_IN_EXPORT Code aclrtSetSysParamOpt(int which, int64_t value) {
    STAND_IN_ENTER();
    const std::lock_guard<std::mutex> lock(guard);
    system_parameter(which) = value;
    return kSuccess;
}

STAND_IN_EXPORT Code aclrtGetSysParamOpt(int which, int64_t* value) {
    STAND_IN_ENTER();
    const std::lock_guard<std::mutex> lock(guard);
    *value = system_parameter(which);
    return kSuccess;
}

STAND_IN_EXPORT Code aclrtCtxSetSysParamOpt(int which, int64_t value) {
    return aclrtSetSysParamOpt(which, value);
}

STAND_IN_EXPORT Code aclrtCtxGetSysParamOpt(int which, int64_t* value) {
    return aclrtGetSysParamOpt(which, value);
}
