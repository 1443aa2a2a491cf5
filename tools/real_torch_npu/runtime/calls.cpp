// Settings, the record of calls, made-up failures.

#include "runtime.h"

#include <sys/mman.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <sstream>
#include <string>

namespace stand_in {
namespace {

const char* text_of(const char* variable, const char* otherwise) {
    const char* value = std::getenv(variable);
    return value != nullptr && *value != '\0' ? value : otherwise;
}

// Parsed at each call, as are the settings: a process that is forked off may have been given others.
Code made_up_failure(const char* function) {
    std::istringstream entries(text_of("NPUIFY_STAND_IN_FAIL", ""));
    for (std::string entry; std::getline(entries, entry, ',');) {
        const auto equals = entry.find('=');
        if (equals != std::string::npos && entry.compare(0, equals, function) == 0) {
            return std::atoi(entry.c_str() + equals + 1);
        }
    }
    return kSuccess;
}

void note(const char* how, const char* function) {
    const char* const path = std::getenv("NPUIFY_STAND_IN_LOG");
    if (path == nullptr) {
        return;
    }
    static std::mutex guard;
    static auto* const seen = new std::set<std::string>();
    const std::lock_guard<std::mutex> lock(guard);
    if (!seen->insert(function).second) {
        return;
    }
    if (std::FILE* file = std::fopen(path, "a")) {
        std::fprintf(file, "%s %s\n", how, function);
        std::fclose(file);
    }
}

// How many of the machine's devices ASCEND_RT_VISIBLE_DEVICES shows, as the runtime reads it when it starts: numbers that
// ascend, up to the first that there is not.
int32_t visible(int32_t devices) {
    static const char* const value = std::getenv("ASCEND_RT_VISIBLE_DEVICES");
    if (value == nullptr) {
        return devices;
    }
    int32_t shown = 0;
    long before = -1;
    for (const char* at = value; *at >= '0' && *at <= '9';) {
        char* end = nullptr;
        const long device = std::strtol(at, &end, 10);
        if (device <= before) {
            return 0;
        }
        if (device >= devices) {
            break;
        }
        before = device;
        ++shown;
        at = *end == ',' ? end + 1 : end;
        if (*end != ',') {
            break;
        }
    }
    return shown;
}

}  // namespace

Settings settings() {
    return {
        visible(std::atoi(text_of("NPUIFY_STAND_IN_DEVICES", "1"))),
        static_cast<size_t>(std::strtoull(text_of("NPUIFY_STAND_IN_MEMORY", "68719476736"), nullptr, 10)),
        text_of("NPUIFY_STAND_IN_SOC", "Ascend910B2"),
    };
}

Code entered(const char* function) {
    note("runtime", function);
    return made_up_failure(function);
}

double now_ms() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double, std::milli>(now).count();
}

}  // namespace stand_in

// What a generated C function does: it says that it was called, and returns zero, which most of CANN reads as success and
// as a null pointer. NPUIFY_STAND_IN_FAIL holds for it too.
STAND_IN_EXPORT long npuify_stand_in_called(const char* function) {
    stand_in::note("stub", function);
    return stand_in::made_up_failure(function);
}

// The same for C++ functions, which may return a reference. The address that they give has zeros in its lower half, and
// there are zeros at it: who expects a number or a truth value reads zero, who expects an object finds an empty one.
STAND_IN_EXPORT void* npuify_stand_in_called_cpp(const char* function) {
    static void* const zeros = [] {
        constexpr uintptr_t kAddress = uintptr_t{1} << 44;
        void* found = mmap(reinterpret_cast<void*>(kAddress), 1 << 16, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        return found == MAP_FAILED ? nullptr : found;
    }();
    stand_in::note("stub", function);
    return zeros;
}
