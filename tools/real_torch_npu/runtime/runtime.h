// What the parts of the stand-in runtime share: settings, the record of calls, and made-up failures.
//
// Settings come from the environment:
//   NPUIFY_STAND_IN_DEVICES   how many devices there are (default 1)
//   NPUIFY_STAND_IN_MEMORY    bytes of each device (default 64 GiB)
//   NPUIFY_STAND_IN_SOC       the SoC's name (default Ascend910B2)
//   NPUIFY_STAND_IN_FAIL      function=code, separated by commas: these calls return that code
//   NPUIFY_STAND_IN_LOG       a file to which each function that is called is written once, "stub NAME" where nothing stands
//                             behind it
#pragma once

#include <cstddef>
#include <cstdint>

#define STAND_IN_EXPORT extern "C" __attribute__((visibility("default")))

using Code = int;  // aclError

namespace stand_in {

// Codes of CANN, by their names there.
constexpr Code kSuccess = 0;                    // ACL_SUCCESS
constexpr Code kRepeatInitialize = 100002;      // ACL_ERROR_REPEAT_INITIALIZE
constexpr Code kParamInvalid = 107000;          // ACL_ERROR_RT_PARAM_INVALID
constexpr Code kInvalidDevice = 107001;         // ACL_ERROR_RT_INVALID_DEVICEID
constexpr Code kContextNull = 107002;           // ACL_ERROR_RT_CONTEXT_NULL
constexpr Code kFeatureNotSupported = 207000;   // ACL_ERROR_RT_FEATURE_NOT_SUPPORT
constexpr Code kMemoryAllocation = 207001;      // ACL_ERROR_RT_MEMORY_ALLOCATION

struct Settings {
    int32_t devices;
    size_t memory;
    const char* soc;
};

Settings settings();

// Notes a call, and gives the code that NPUIFY_STAND_IN_FAIL has for it; 0: none.
Code entered(const char* function);

// Milliseconds on a steady clock, what events are stamped with.
double now_ms();

}  // namespace stand_in

// First line of each function of the runtime that returns a code.
#define STAND_IN_ENTER()                                          \
    do {                                                          \
        if (const Code made_up = stand_in::entered(__func__)) {   \
            return made_up;                                       \
        }                                                         \
    } while (0)
