// The list of optimised kernels, family by family, and the choice among them.
#include <algorithm>
#include <string>
#include <unordered_map>

#include "engine/kernels/families.h"
#include "engine/kernels/kernel.h"

namespace nabla::engine {

namespace {

std::vector<const Kernel*> listKernels() {
    std::vector<const Kernel*> all;
    const auto append = [&](std::span<const Kernel> family) {
        for (const Kernel& kernel : family)
            all.push_back(&kernel);
    };
    append(matMulKernels());
    append(convKernels());
    append(softmaxAndPoolKernels());
    append(logSoftmaxKernels());
    append(maxPoolKernels());
    append(elementwiseKernels());
    append(treeKernels());
    return all;
}

using KernelIndex = std::unordered_map<std::string, std::vector<const Kernel*>>;

std::string key(std::string_view domain, std::string_view opType) {
    return std::string(domain) + ':' + std::string(opType);
}

const KernelIndex& index() {
    static const KernelIndex made = [] {
        KernelIndex byName;
        for (const Kernel* kernel : allKernels())
            byName[key(kernel->domain, kernel->opType)].push_back(kernel);
        return byName;
    }();
    return made;
}

} // namespace

std::span<const Kernel* const> allKernels() {
    static const std::vector<const Kernel*> all = listKernels();
    return all;
}

const Kernel* chooseKernel(const KernelQuery& query) {
    const auto it = index().find(key(query.node.domain, query.node.opType));
    if (it == index().end())
        return nullptr;
    const auto accepting = std::find_if(
        it->second.begin(), it->second.end(), [&](const Kernel* kernel) { return kernel->accepts(query); });
    return accepting == it->second.end() ? nullptr : *accepting;
}

std::vector<std::string_view> kernelNames() {
    std::vector<std::string_view> names{"reference"};
    for (const Kernel* kernel : allKernels())
        names.push_back(kernel->name);
    return names;
}

std::uint16_t kernelIndex(const Kernel* kernel) {
    const auto all = allKernels();
    const auto it = std::find(all.begin(), all.end(), kernel);
    return it == all.end() ? std::uint16_t{0} : static_cast<std::uint16_t>(it - all.begin() + 1);
}

} // namespace nabla::engine
