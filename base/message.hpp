// SPDX-License-Identifier: MIT
// Writes and reads the bodies of messages between processes of dtrace. Integers are in
// native byte order. The receiver checks all reads against the bounds of the body.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace dt {

class MessageWriter {
public:
    template <class T> MessageWriter& put(const T& value)
    {
        static_assert(std::is_trivially_copyable_v<T>);
        return raw(&value, sizeof value);
    }
    MessageWriter& text(std::string_view text)
    {
        put<std::uint32_t>(static_cast<std::uint32_t>(text.size()));
        return raw(text.data(), text.size());
    }
    MessageWriter& raw(const void* from, std::size_t n)
    {
        auto* bytes = static_cast<const std::byte*>(from);
        body_.insert(body_.end(), bytes, bytes + n);
        return *this;
    }
    // Writes the number of elements and then the elements.
    template <class T> MessageWriter& list(const std::vector<T>& values)
    {
        static_assert(std::is_trivially_copyable_v<T>);
        put<std::uint64_t>(values.size());
        return raw(values.data(), values.size() * sizeof(T));
    }
    // Avoids repeated copying while the body grows.
    void reserve(std::size_t n_bytes) { body_.reserve(n_bytes); }
    const std::vector<std::byte>& body() const { return body_; }

private:
    std::vector<std::byte> body_;
};

// Reads the data that a MessageWriter wrote. After a read beyond the end, ok() is
// false, and all further reads return zeros.
class MessageReader {
public:
    explicit MessageReader(std::span<const std::byte> body) : left_(body) {}
    template <class T> T get()
    {
        T value{};
        if (const std::byte* from = take(sizeof value))
            std::memcpy(&value, from, sizeof value);
        return value;
    }
    std::string text()
    {
        auto n = get<std::uint32_t>();
        const std::byte* from = take(n);
        return from == nullptr ? std::string()
                               : std::string(reinterpret_cast<const char*>(from), n);
    }
    template <class T> std::vector<T> array(std::size_t n)
    {
        std::vector<T> values;
        if (n > left_.size() / sizeof(T)) {
            ok_ = false;
            return values;
        }
        values.resize(n);
        if (n != 0)
            std::memcpy(values.data(), take(n * sizeof(T)), n * sizeof(T));
        return values;
    }
    // Reads what MessageWriter::list() wrote.
    template <class T> std::vector<T> list() { return array<T>(get<std::uint64_t>()); }
    // Returns the next n bytes. Returns an empty span if there are fewer.
    std::span<const std::byte> bytes(std::size_t n)
    {
        const std::byte* from = take(n);
        return from == nullptr ? std::span<const std::byte>() : std::span(from, n);
    }
    bool ok() const { return ok_; }
    std::size_t left() const { return left_.size(); }
    // Marks the message as malformed, and returns false.
    bool fail() { return ok_ = false; }
    // Returns whether all data were read and none were missing.
    bool complete() const { return ok_ && left_.empty(); }

private:
    const std::byte* take(std::size_t n)
    {
        if (n > left_.size())
            ok_ = false;
        if (!ok_)
            return nullptr;
        const std::byte* from = left_.data();
        left_ = left_.subspan(n);
        return from;
    }

    std::span<const std::byte> left_;
    bool ok_ = true;
};

} // namespace dt
