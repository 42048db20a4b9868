// The plain matrix product that MatMul, Gemm and the recurrent operators share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace nabla::engine {

/// Rows [begin, end) of c [m,n] = a [m,k] * b [k,n] (+ c when `accumulate`). The inner loop runs along rows of b and c.
template <typename T>
void multiplyRows(const T* a, const T* b, T* c, std::int64_t begin, std::int64_t end, std::int64_t k, std::int64_t n, bool accumulate = false) {
    for (std::int64_t i = begin; i < end; ++i) {
        T* const row = c + i * n;
        if (!accumulate)
            std::fill(row, row + n, T{});
        for (std::int64_t l = 0; l < k; ++l) {
            const T factor = a[i * k + l];
            const T* const other = b + l * n;
            for (std::int64_t j = 0; j < n; ++j)
                row[j] += factor * other[j];
        }
    }
}

/// [rows, columns] -> [columns, rows].
template <typename T> std::vector<T> transposed(const T* matrix, std::int64_t rows, std::int64_t columns) {
    std::vector<T> out(static_cast<std::size_t>(rows * columns));
    for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < columns; ++j)
            out[static_cast<std::size_t>(j * rows + i)] = matrix[i * columns + j];
    }
    return out;
}

} // namespace nabla::engine
