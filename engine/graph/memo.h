// AnalysisMemo: what has been computed from one graph state, kept beside it.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <typeindex>
#include <unordered_map>

namespace nabla::engine {

/// Thread safe. Two threads that ask for the same thing at once may both compute it; the first result is kept.
class AnalysisMemo {
public:
    template <typename T, typename F> std::shared_ptr<const T> get(const std::string& key, F&& compute) {
        const std::string fullKey = key + '\0' + typeid(T).name();
        {
            const std::scoped_lock lock(m_mutex);
            if (const auto it = m_results.find(fullKey); it != m_results.end())
                return std::static_pointer_cast<const T>(it->second);
        }
        std::shared_ptr<const T> made = std::make_shared<const T>(compute()); // outside the lock: analyses use analyses
        const std::scoped_lock lock(m_mutex);
        return std::static_pointer_cast<const T>(m_results.emplace(fullKey, made).first->second);
    }

private:
    std::mutex m_mutex;
    std::unordered_map<std::string, std::shared_ptr<const void>> m_results;
};

} // namespace nabla::engine
