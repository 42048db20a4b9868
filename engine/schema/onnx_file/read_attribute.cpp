// Field numbers and types of AttributeProto.
#include "engine/schema/onnx_file/read_attribute.h"

namespace nabla::engine {

namespace {

constexpr int kFloat = 1, kInt = 2, kString = 3, kTensor = 4, kGraph = 5, kFloats = 6, kInts = 7, kStrings = 8, kTensors = 9, kGraphs = 10, kSparse = 11, kSparses = 12, kType = 13, kTypes = 14;

Result<TensorPtr> tensorOf(std::string_view bytes, WireStatus& status, const TensorSource& source, ReadAttribute& out) {
    NABLA_TRY(ReadTensor read, readTensor(parseTensor(bytes, status), status, source));
    if (!read.missing.empty()) {
        out.missing = read.missing;
        return TensorPtr();
    }
    return std::make_shared<const Tensor>(std::move(read.tensor));
}

void readFloats(WireReader& r, std::vector<float>& floats) {
    if (r.type() != WireType::Length) {
        floats.push_back(r.float32());
        return;
    }
    const std::string_view packed = r.bytes();
    if (packed.size() % sizeof(float) != 0)
        r.status().failCorrupt(packed.data(), "packed floats whose length is no multiple of 4");
    const std::size_t count = packed.size() / sizeof(float);
    const std::size_t before = floats.size();
    floats.resize(before + count);
    if (count > 0)
        std::copy_n(packed.data(), count * sizeof(float), reinterpret_cast<char*>(floats.data() + before));
}

/// The lists of one attribute, whichever of them its type says.
struct Lists {
    std::vector<float> floats;
    std::vector<std::int64_t> ints;
    std::vector<std::string> strings;
    std::vector<TensorPtr> tensors;
    std::vector<ValueType> types;
};

std::optional<AttributeValue> chosenList(int type, Lists&& lists) {
    switch (type) {
    case kFloats: return std::move(lists.floats);
    case kInts: return std::move(lists.ints);
    case kStrings: return std::move(lists.strings);
    case kTensors: return std::move(lists.tensors);
    case kTypes: return std::move(lists.types);
    default: return std::nullopt;
    }
}

std::optional<AttributeValue> emptyScalar(int type) {
    switch (type) {
    case kFloat: return 0.0F;
    case kInt: return std::int64_t{0};
    case kString: return std::string();
    case kTensor: return TensorPtr();
    case kType: return ValueType();
    default: return std::nullopt;
    }
}

} // namespace

int guessAttributeType(const ParsedAttribute& parsed, WireStatus& status) {
    WireReader r(parsed.bytes, status);
    while (r.next()) {
        switch (r.field()) {
        case 2: return kFloat;
        case 3: return kInt;
        case 4: return kString;
        case 5: return kTensor;
        case 6: return kGraph;
        case 7: return kFloats;
        case 8: return kInts;
        case 9: return kStrings;
        case 10: return kTensors;
        case 11: return kGraphs;
        case 14: return kType;
        case 15: return kTypes;
        case 22: return kSparse;
        case 23: return kSparses;
        default: break;
        }
    }
    return 0;
}

Result<ReadAttribute> readAttribute(const ParsedAttribute& parsed, int type, WireStatus& status, const TensorSource& source) {
    ReadAttribute out;
    out.value = emptyScalar(type);
    Lists lists;
    WireReader r(parsed.bytes, status);
    while (r.next()) {
        const std::uint32_t field = r.field();
        if (field == 2 && type == kFloat) {
            out.value = r.float32();
        } else if (field == 3 && type == kInt) {
            out.value = r.int64();
        } else if (field == 4 && type == kString) {
            out.value = std::string(r.bytes());
        } else if (field == 5 && type == kTensor) {
            NABLA_TRY(out.value, tensorOf(r.bytes(), status, source, out));
        } else if (field == 14 && type == kType) {
            out.value = parseType(r.bytes(), status);
        } else if (field == 22 && type == kSparse) {
            NABLA_TRY(out.value, readSparseTensor(r.bytes(), status, source));
        } else if (field == 7 && type == kFloats) {
            readFloats(r, lists.floats);
        } else if (field == 8 && type == kInts) {
            r.forEachVarint([&](std::uint64_t value) { lists.ints.push_back(static_cast<std::int64_t>(value)); });
        } else if (field == 9 && type == kStrings) {
            lists.strings.emplace_back(r.bytes());
        } else if (field == 10 && type == kTensors) {
            NABLA_TRY(TensorPtr tensor, tensorOf(r.bytes(), status, source, out));
            if (tensor)
                lists.tensors.push_back(std::move(tensor));
        } else if (field == 15 && type == kTypes) {
            lists.types.push_back(parseType(r.bytes(), status));
        }
    }
    NABLA_CHECK(status.result());
    if (auto list = chosenList(type, std::move(lists)))
        out.value = std::move(list);
    return out;
}

} // namespace nabla::engine
