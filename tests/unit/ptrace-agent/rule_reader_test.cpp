// SPDX-License-Identifier: MIT
// Tests that the agent gets the rules of files from a process without rights, and that
// neither a file nor the process can delay the agent.
#include "ptrace-agent/rules/rule_reader.hpp"

#include "base/clock_ns.hpp"
#include "process/call_frames.hpp"
#include "process/regular_file.hpp"
#include "ptrace-agent/rules/rule_server.hpp"
#include "session.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace dt;
using namespace dt::agent;
using namespace dt::test;

namespace {

constexpr std::uint64_t second_ns = 1'000'000'000;

std::string libc_path()
{
    Dl_info libc{};
    EXPECT_NE(dladdr(reinterpret_cast<void*>(&gnu_get_libc_version), &libc), 0);
    return libc.dli_fname;
}

std::shared_ptr<RuleReader::File> opened(RuleReader& reader, const std::string& path)
{
    return reader.open(open_regular(path)).lock();
}

// Waits for the answer of the process, and returns it.
RuleAnswer answer_of(RuleReader& reader, RuleReader::File& file, std::uint64_t offset)
{
    (void)reader.rule_at(file, offset);
    EXPECT_TRUE(wait_until([&] { return !reader.exchange(); }));
    return reader.rule_at(file, offset);
}

// Waits until the agent closes the socket.
void hang(int socket)
{
    pollfd closed{socket, POLLRDHUP, 0};
    (void)::poll(&closed, 1, -1);
}

// A process that calls `answer` for each request for rules.
template <class Answer> std::function<void(Fd)> server_with(Answer answer)
{
    return [answer](Fd socket) {
        const int raw = socket.get();
        Channel channel(std::move(socket));
        while (auto message = channel.receive()) {
            MessageReader in(message->body);
            if (message->word == rules_close)
                continue;
            auto request = read_request(in);
            if (!request)
                return;
            answer(channel, *request, raw);
        }
    };
}

void reply_guesses(Channel& channel, const RuleRequest& request, int)
{
    std::vector<RuleAnswer> answers(request.offsets.size(), {RuleAnswer::guess, {}});
    MessageWriter out;
    write_answers(out, request.file, answers);
    (void)channel.send(rules_found, out.body());
}

} // namespace

TEST(RuleReader, ReturnsWhatAParserInThisProcessReturns)
{
    RuleReader reader;
    for (const std::string& path : {libc_path(), std::string("/usr/bin/python3.11"),
                                    std::string(VICTIMS) + "/frames_no_fp"}) {
        CallFrames frames(open_regular(path));
        ASSERT_TRUE(frames.are_there()) << path;
        auto file = opened(reader, path);
        const CallFrames::Part& text = frames.text().front();
        const std::uint64_t n_bytes = text.end - text.begin;
        int n_rules = 0;
        for (std::uint64_t at = 0; at < n_bytes; at += n_bytes / 500 + 1)
            (void)reader.rule_at(*file, text.offset + at);
        for (std::uint64_t at = 0; at < n_bytes; at += n_bytes / 500 + 1) {
            const RuleAnswer answer = answer_of(reader, *file, text.offset + at);
            const FrameRow* row = frames.frame_at(text.begin + at);
            ASSERT_EQ(answer.kind == RuleAnswer::guess, row == nullptr) << at;
            const auto rule = row != nullptr ? rule_of(*row, {text.begin + at})
                                             : std::optional<dt_rt_rule>();
            ASSERT_EQ(answer.kind == RuleAnswer::rule, rule.has_value()) << at;
            n_rules += rule ? 1 : 0;
            if (rule) {
                EXPECT_EQ(answer.how.cfa, rule->cfa) << at;
                EXPECT_EQ(answer.how.from, rule->from) << at;
                EXPECT_EQ(answer.how.rbp, rule->rbp) << at;
                EXPECT_EQ(answer.how.rbp_from, rule->rbp_from) << at;
            }
        }
        EXPECT_GT(n_rules, 10) << path;
    }
}

TEST(RuleReader, SharesTheRulesOfAFileThatIsOpenedAgain)
{
    RuleReader reader;
    auto file = opened(reader, libc_path());
    EXPECT_NE(answer_of(reader, *file, 0x30000).kind, RuleAnswer::pending);
    EXPECT_EQ(opened(reader, libc_path()), file);
    EXPECT_NE(opened(reader, "/proc/self/exe"), file);
}

TEST(RuleReader, TextOfAFileThatCannotBeOpenedHasAGuess)
{
    RuleReader reader;
    EXPECT_EQ(reader.rule_at(*reader.open(Fd()).lock(), 0).kind, RuleAnswer::guess);
    EXPECT_FALSE(reader.exchange());
}

// The agent waits for any child, and would mistake the process for a target.
TEST(RuleReader, StartsAProcessThatIsNoChild)
{
    RuleReader reader;
    auto file = opened(reader, libc_path());
    (void)answer_of(reader, *file, 0x30000);
    EXPECT_EQ(::waitpid(-1, nullptr, __WALL | WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
}

// A process that a file has taken over need not exit when its socket is closed.
TEST(RuleReader, KillsTheProcess)
{
    std::array<int, 2> alive{};
    ASSERT_EQ(::pipe2(alive.data(), O_CLOEXEC), 0);
    {
        RuleReader reader(
            server_with([](Channel&, const RuleRequest&, int) { ::pause(); }),
            second_ns);
        auto file = opened(reader, libc_path());
        (void)reader.rule_at(*file, 0);
        reader.exchange();
        ::close(alive[1]); // the process has the other copy
        pollfd ended{alive[0], POLLIN, 0};
        EXPECT_EQ(::poll(&ended, 1, 100), 0) << "the process has not started";
    }
    pollfd ended{alive[0], POLLIN, 0};
    EXPECT_EQ(::poll(&ended, 1, 10'000), 1);
    ::close(alive[0]);
}

TEST(RuleReader, NeverWaitsForTheProcess)
{
    RuleReader reader(
        server_with([](Channel&, const RuleRequest&, int socket) { hang(socket); }),
        second_ns);
    auto file = opened(reader, libc_path());
    const std::uint64_t began = monotonic_ns();
    for (std::uint64_t offset = 0; offset < 10'000; offset++) {
        EXPECT_EQ(reader.rule_at(*file, offset).kind, RuleAnswer::pending);
        EXPECT_TRUE(reader.exchange());
    }
    EXPECT_LT(monotonic_ns() - began, second_ns);
    EXPECT_TRUE(reader.exchange());
}

TEST(RuleReader, AFileThatTakesTooLongHasNoRules)
{
    auto serve = [](Channel& channel, const RuleRequest& request, int socket) {
        if (request.file == 1)
            hang(socket);
        reply_guesses(channel, request, socket);
    };
    RuleReader reader(server_with(serve), second_ns / 20);
    auto slow = opened(reader, libc_path()), other = opened(reader, "/proc/self/exe");
    EXPECT_EQ(answer_of(reader, *slow, 0).kind, RuleAnswer::none);
    EXPECT_EQ(answer_of(reader, *other, 0).kind, RuleAnswer::guess);
}

TEST(RuleReader, AFileThatEndsTheProcessHarmsNoOtherFile)
{
    auto serve = [](Channel& channel, const RuleRequest& request, int socket) {
        if (request.file == 1)
            ::_exit(1);
        reply_guesses(channel, request, socket);
    };
    RuleReader reader(server_with(serve), second_ns * 10);
    auto hostile = opened(reader, libc_path()),
         other = opened(reader, "/proc/self/exe");
    (void)reader.rule_at(*hostile, 0);
    EXPECT_EQ(answer_of(reader, *other, 0).kind, RuleAnswer::guess);
    EXPECT_EQ(reader.rule_at(*hostile, 0).kind, RuleAnswer::none);
    EXPECT_EQ(reader.rule_at(*hostile, 1).kind, RuleAnswer::none);
    EXPECT_FALSE(reader.exchange());
}

TEST(RuleReader, StartsALimitedNumberOfProcesses)
{
    static std::atomic<unsigned>* n_started =
        static_cast<std::atomic<unsigned>*>(::mmap(
            nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    RuleReader reader([](Fd) { ++*n_started; }, second_ns * 10);
    char name[] = "/tmp/rules.XXXXXX";
    for (unsigned i = 0; i < RuleReader::max_starts; i++) {
        const int fd = ::mkstemp(std::strcpy(name, "/tmp/rules.XXXXXX"));
        ASSERT_GE(fd, 0);
        ::unlink(name);
        auto file = reader.open(Fd(fd)).lock();
        EXPECT_EQ(answer_of(reader, *file, 0).kind, RuleAnswer::none);
    }
    EXPECT_LE(*n_started, RuleReader::max_starts);
    EXPECT_GT(*n_started, 0U);
}

TEST(RuleReader, RefusesRepliesToOtherRequests)
{
    using Change = std::function<void(std::uint64_t & file, std::vector<RuleAnswer>&)>;
    const std::vector<Change> changes = {
        [](std::uint64_t& file, auto&) { file++; },
        [](std::uint64_t&, std::vector<RuleAnswer>& answers) { answers.pop_back(); },
        [](std::uint64_t&, std::vector<RuleAnswer>& answers) {
            answers.push_back(answers.back());
        },
        [](std::uint64_t&, std::vector<RuleAnswer>& answers) {
            answers.back().kind = RuleAnswer::pending;
        },
        [](std::uint64_t&, std::vector<RuleAnswer>& answers) {
            answers.back().kind = static_cast<RuleAnswer::Kind>(77);
        },
        [](std::uint64_t&, std::vector<RuleAnswer>& answers) {
            answers.back() = {RuleAnswer::rule, {}};
            answers.back().how.from = DT_RT_FROM_GUESS;
        },
        [](std::uint64_t&, std::vector<RuleAnswer>& answers) {
            answers.back() = {RuleAnswer::rule, {}};
            answers.back().how.rbp_from = DT_RT_FROM_RSP;
        },
    };
    for (const Change& change : changes) {
        auto serve = [&change](Channel& channel, const RuleRequest& request, int) {
            std::uint64_t file = request.file;
            std::vector<RuleAnswer> answers(request.offsets.size(),
                                            {RuleAnswer::guess, {}});
            change(file, answers);
            MessageWriter out;
            write_answers(out, file, answers);
            (void)channel.send(rules_found, out.body());
        };
        RuleReader reader(server_with(serve), second_ns * 10);
        auto file = opened(reader, libc_path());
        EXPECT_EQ(answer_of(reader, *file, 0).kind, RuleAnswer::none)
            << &change - changes.data();
    }
}

// The agent does not wait for the rest of a message.
TEST(RuleReader, RefusesATruncatedMessage)
{
    auto serve = [](Fd socket) {
        char byte = 0;
        while (::read(socket.get(), &byte, 1) != 1) {
        }
        (void)!::write(socket.get(), &byte, 1);
        hang(socket.get());
    };
    RuleReader reader(serve, second_ns * 10);
    auto file = opened(reader, libc_path());
    EXPECT_EQ(answer_of(reader, *file, 0).kind, RuleAnswer::none);
}

TEST(RuleReader, ClosesTheFileThatWasNotUsedForTheLongestTime)
{
    RuleReader reader(server_with(reply_guesses), second_ns * 10);
    std::vector<std::weak_ptr<RuleReader::File>> files;
    for (std::size_t i = 0; i <= RuleReader::max_files; i++) {
        FILE* made = std::tmpfile();
        ASSERT_NE(made, nullptr);
        files.push_back(reader.open(Fd(::dup(::fileno(made)))));
        std::fclose(made);
        (void)answer_of(reader, *files.back().lock(), 0);
    }
    EXPECT_TRUE(files.front().expired());
    EXPECT_FALSE(files[1].expired());
    EXPECT_EQ(answer_of(reader, *files[1].lock(), 1).kind, RuleAnswer::guess);
}

TEST(RuleReader, KnowsALimitedNumberOfRules)
{
    RuleReader reader(server_with(reply_guesses), second_ns * 10);
    auto file = opened(reader, libc_path());
    for (std::uint64_t offset = 0; offset < 2 * RuleReader::max_rules; offset++)
        (void)reader.rule_at(*file, offset);
    EXPECT_EQ(answer_of(reader, *file, 1).kind, RuleAnswer::guess);
    EXPECT_EQ(answer_of(reader, *file, 1).kind, RuleAnswer::guess);
}
