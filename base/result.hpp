// Errors are values. A Result<T> holds a T or an Error. No function throws to report an
// error.
//
//   Result<Fd> open_text(Pid pid);
//   auto text = open_text(pid);
//   if (!text)
//       return text.error().during("read text of " + std::to_string(pid));
//
// Callers and tests branch on the Code. The text is for human readers.
#pragma once

#include <cassert>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace dt {

enum class Code {
    invalid,    // the caller's or user's input is wrong
    not_found,  // no such process, file, symbol, ...
    permission, // the system does not permit the operation
    busy,       // another process, such as a debugger, uses the target or resource
    late,       // the target did not reach a state, for example did not stop, in time
    gone, // the target has died or the peer has disconnected; there is nothing to undo
    unsupported, // the input was recognised but is not supported; the text names it
    limit,       // out of memory, descriptors or space
    io,          // a system call failed for another reason
    corrupt,     // data from outside is inconsistent or malformed
};

struct Error {
    Code code = Code::invalid;
    std::string text;
    int sys = 0; // errno of the failed call, or 0

    // Returns the error with the text "DOING: text".
    Error during(std::string_view doing) const
    {
        return Error{code, std::string(doing) + ": " + text, sys};
    }
};

// Creates an Error with the text "DOING: strerror(err)" and the Code for `err`. The
// default for `err` is errno.
Error errno_error(std::string_view doing);
Error errno_error(std::string_view doing, int err);

struct Ok {};

template <class T> class [[nodiscard]] Result {
public:
    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
    Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

    explicit operator bool() const { return state_.index() == 0; }
    T& value()
    {
        assert(*this);
        return *std::get_if<0>(&state_);
    }
    const T& value() const
    {
        assert(*this);
        return *std::get_if<0>(&state_);
    }
    T& operator*() { return value(); }
    const T& operator*() const { return value(); }
    T* operator->() { return &value(); }
    const T* operator->() const { return &value(); }
    const Error& error() const
    {
        assert(!*this);
        return *std::get_if<1>(&state_);
    }

private:
    std::variant<T, Error> state_;
};

} // namespace dt
