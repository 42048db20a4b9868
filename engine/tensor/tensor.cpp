// Storage of tensors and reading of single elements.
#include "engine/tensor/tensor.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "engine/base/mapped_owner.h"
#include "engine/tensor/element.h"
#include "engine/tensor/file_elements.h"

namespace nabla::engine {

namespace {
constexpr std::size_t kAlignment = 64; // a cache line and the widest vector register

/// Ends lazy elements of a file, and is how filePlace() knows them.
struct DropFileElements {
    FileElements source;
    void operator()(const LazyElements* elements) const { delete elements; }
};
}

std::int64_t Tensor::maxTensorBytes() {
    static const std::int64_t limit = [] {
        const char* text = std::getenv("NABLA_MAX_TENSOR_BYTES");
        const long long value = text ? std::atoll(text) : 0;
        return value > 0 ? static_cast<std::int64_t>(value) : std::int64_t{16} << 30;
    }();
    return limit;
}

Result<Tensor> Tensor::make(DType dtype, Shape shape) {
    if (auto ok = checkShape(shape); !ok)
        return Error{ErrorKind::Run, ok.error().message()};
    Tensor t;
    t.m_dtype = dtype;
    t.m_shape = std::move(shape);
    t.m_count = nabla::engine::elementCount(t.m_shape);
    const std::int64_t elementBytes = dtype == DType::String ? static_cast<std::int64_t>(sizeof(std::string)) : 16;
    if (t.m_count > maxTensorBytes() / elementBytes && storageBytes(dtype, t.m_count) > maxTensorBytes()) {
        return runError("tensor {} {} is too large: it needs {} bytes of memory, the limit is {}", name(dtype),
            toString(t.m_shape), storageBytes(dtype, t.m_count), maxTensorBytes());
    }
    if (dtype == DType::String) {
        auto strings = std::make_shared<std::vector<std::string>>(static_cast<std::size_t>(t.m_count));
        t.m_data = reinterpret_cast<const std::byte*>(strings->data());
        t.m_owner = std::move(strings);
        return t;
    }
    const auto bytes = static_cast<std::size_t>(storageBytes(dtype, t.m_count));
    void* memory = ::operator new(bytes + 1, std::align_val_t{kAlignment}, std::nothrow);
    if (!memory)
        return runError("out of memory: tensor {} {} needs {} bytes", name(dtype), toString(t.m_shape), bytes);
    std::memset(memory, 0, bytes);
    t.m_owner = std::shared_ptr<const void>(memory, [](void* p) { ::operator delete(p, std::align_val_t{kAlignment}); });
    t.m_data = static_cast<const std::byte*>(memory);
    return t;
}

Tensor Tensor::view(DType dtype, Shape shape, const std::byte* data, std::shared_ptr<const void> owner) {
    NABLA_ASSERT(dtype != DType::String, "strings live in their own vector");
    Tensor t;
    t.m_dtype = dtype;
    t.m_count = nabla::engine::elementCount(shape);
    t.m_shape = std::move(shape);
    t.m_data = data;
    t.m_owner = std::move(owner);
    return t;
}

LazyElements::~LazyElements() { ::operator delete(m_data, std::align_val_t{kAlignment}); }

const std::byte* LazyElements::get() const {
    std::call_once(m_once, [this] {
        auto* memory = static_cast<std::byte*>(::operator new(m_bytes + 1, std::align_val_t{kAlignment}));
        m_fill(memory);
        m_fill = nullptr; // lets the file go
        m_data = memory;
    });
    return m_data;
}

Tensor Tensor::lazy(DType dtype, Shape shape, std::function<void(std::byte*)> fill) {
    Tensor t = view(dtype, std::move(shape), nullptr, nullptr);
    const FileElements* source = fill.target<FileElements>();
    const auto bytes = static_cast<std::size_t>(t.bytes());
    std::shared_ptr<const LazyElements> elements;
    if (source) {
        DropFileElements drop{*source};
        elements = std::shared_ptr<const LazyElements>(new LazyElements(bytes, std::move(fill)), std::move(drop));
    } else {
        elements = std::make_shared<const LazyElements>(bytes, std::move(fill));
    }
    t.m_lazy = elements.get();
    t.m_owner = std::move(elements);
    return t;
}

void FileElements::operator()(std::byte* out) const { std::memcpy(out, data, bytes); }

std::optional<FilePlace> filePlace(const Tensor& tensor) {
    const std::byte* data = nullptr;
    std::shared_ptr<const MappedFile> file = mappedOwner(tensor.owner());
    if (file) {
        data = tensor.raw();
    } else if (const auto* drop = std::get_deleter<DropFileElements>(tensor.owner())) {
        file = mappedOwner(drop->source.owner);
        data = drop->source.data;
    }
    if (!file)
        return std::nullopt;
    return FilePlace{file, static_cast<std::size_t>(data - file->bytes().data())};
}

Tensor tensorInFile(DType dtype, Shape shape, const std::shared_ptr<const MappedFile>& file, std::size_t offset) {
    const std::byte* data = file->bytes().data() + offset;
    const int bits = isComplex(dtype) ? bitWidth(dtype) / 2 : bitWidth(dtype);
    if (bits < 8 || offset % (static_cast<std::size_t>(bits) / 8) == 0) // a mapping begins at a page
        return Tensor::view(dtype, std::move(shape), data, file);
    const auto bytes = static_cast<std::size_t>(storageBytes(dtype, elementCount(shape)));
    return Tensor::lazy(dtype, std::move(shape), FileElements{data, bytes, file});
}

Tensor Tensor::reshaped(Shape shape) const {
    NABLA_ASSERT(nabla::engine::elementCount(shape) == m_count, "reshape keeps the number of elements");
    Tensor t = *this;
    t.m_shape = std::move(shape);
    return t;
}

Result<Tensor> Tensor::clone() const {
    NABLA_TRY(Tensor copy, make(m_dtype, m_shape));
    if (m_dtype == DType::String) {
        auto out = copy.mutableData<std::string>();
        const auto in = data<std::string>();
        std::copy(in.begin(), in.end(), out.begin());
    } else if (m_count > 0) {
        std::memcpy(copy.mutableRaw(), raw(), static_cast<std::size_t>(bytes()));
    }
    return copy;
}

double Tensor::asDouble(std::int64_t index) const { return readDouble(m_dtype, raw(), index); }
std::int64_t Tensor::asInt64(std::int64_t index) const { return readInt64(m_dtype, raw(), index); }
std::string Tensor::asText(std::int64_t index) const { return readText(m_dtype, raw(), index); }

std::vector<std::int64_t> Tensor::toInt64s() const {
    std::vector<std::int64_t> out(static_cast<std::size_t>(m_count));
    for (std::int64_t i = 0; i < m_count; ++i)
        out[static_cast<std::size_t>(i)] = asInt64(i);
    return out;
}

} // namespace nabla::engine
