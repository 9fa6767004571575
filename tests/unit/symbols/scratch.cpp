// SPDX-License-Identifier: MIT
// Helpers for the tests of symbols/.
#include "scratch.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <lzma.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dt {

Scratch::Scratch()
{
    std::string name =
        (std::filesystem::temp_directory_path() / "symbols-XXXXXX").string();
    folder_ = ::mkdtemp(name.data()) ? name : "";
    EXPECT_FALSE(folder_.empty());
}

Scratch::~Scratch()
{
    std::error_code ignored;
    if (!folder_.empty())
        std::filesystem::remove_all(folder_, ignored);
}

std::vector<std::byte> read_file(const std::string& path)
{
    std::ifstream in(path, std::ios::binary);
    std::string text((std::istreambuf_iterator<char>(in)), {});
    EXPECT_FALSE(text.empty()) << path;
    const auto* first = reinterpret_cast<const std::byte*>(text.data());
    return {first, first + text.size()};
}

void write_file(const std::string& path, const std::vector<std::byte>& bytes)
{
    std::ofstream out(path, std::ios::binary);
    out.write(reinterpret_cast<const char*>(bytes.data()),
              static_cast<std::streamsize>(bytes.size()));
    EXPECT_TRUE(out.good()) << path;
}

bool objcopy(const std::string& arguments)
{
    return std::system((OBJCOPY " " + arguments).c_str()) == 0;
}

std::vector<std::byte> packed_xz(const std::vector<std::byte>& bytes)
{
    std::vector<std::byte> out(lzma_stream_buffer_bound(bytes.size()));
    std::size_t size = 0;
    auto status = lzma_easy_buffer_encode(
        6, LZMA_CHECK_CRC64, nullptr,
        reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size(),
        reinterpret_cast<std::uint8_t*>(out.data()), &size, out.size());
    EXPECT_EQ(status, LZMA_OK);
    out.resize(size);
    return out;
}

Victim::Victim(const std::string& program, std::vector<std::string> args)
{
    std::vector<char*> argv{const_cast<char*>(program.c_str())}; // execv() reads it
    for (std::string& arg : args)
        argv.push_back(arg.data());
    argv.push_back(nullptr);
    int to[2], from[2];
    if (::pipe(to) != 0 || ::pipe(from) != 0)
        return;
    pid_ = ::fork();
    if (pid_ == 0) {
        ::dup2(to[0], 0);
        ::dup2(from[1], 1);
        for (int fd : {to[0], to[1], from[0], from[1]})
            ::close(fd);
        ::execv(program.c_str(), argv.data());
        ::_exit(127);
    }
    ::close(to[0]);
    ::close(from[1]);
    in_ = Fd(to[1]);
    out_ = Fd(from[0]);
    read_addresses();
}

Victim::~Victim()
{
    end();
}

void Victim::read_addresses()
{
    std::string line;
    char c = 0;
    while (::read(out_.get(), &c, 1) == 1 && c != '\n')
        line += c;
    int n = std::sscanf(line.c_str(), "%zx %zx %zx", &addresses_.plugin_work,
                        &addresses_.cart_total, &addresses_.original_name);
    EXPECT_EQ(n, 3) << line;
}

void Victim::command(char what)
{
    EXPECT_EQ(::write(in_.get(), &what, 1), 1);
    read_addresses();
}

void Victim::end()
{
    if (pid_ < 0)
        return;
    in_.reset();
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
}

} // namespace dt
