// Keeps oneDNN, which runs on OpenMP, on the thread that calls it: parallel work is ours to plan (docs/adr/0003).
#include <dlfcn.h>

#include "engine/kernels/kernel.h"

namespace nabla::engine {

void initKernelThread() {
    // Through the loaded library and not through <omp.h>: our own code is compiled without OpenMP. The setting is per
    // calling thread in libgomp.
    using SetThreads = void (*)(int);
    static const auto set = reinterpret_cast<SetThreads>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
    thread_local bool done = false;
    if (!done && set)
        set(1);
    done = true;
}

} // namespace nabla::engine
