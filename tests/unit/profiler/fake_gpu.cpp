// A driver or a CUPTI library as small as detection needs, one of them per build; loaded by tst_gpu_state.
#include <cstddef>
#include <cstdint>
#include <cstring>

extern "C" {
#ifdef FAKE_CUPTI_CODE
int cuptiGetVersion(std::uint32_t* version) {
    *version = 130001;
    return FAKE_CUPTI_CODE;
}
#else
int cuInit(unsigned) {
    return 0;
}
int cuDriverGetVersion(int* version) {
    *version = 13000;
    return 0;
}
int cuDeviceGetCount(int* count) {
    *count = FAKE_DEVICES;
    return 0;
}
int cuDeviceGetName(char* name, int, int) {
    std::strcpy(name, "Fake GPU");
    return 0;
}
int cuDeviceTotalMem_v2(std::size_t* bytes, int) {
    *bytes = std::size_t{1} << 34;
    return 0;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
    *value = attribute == 75 ? 9 : 0;
    return 0;
}
#endif
}
