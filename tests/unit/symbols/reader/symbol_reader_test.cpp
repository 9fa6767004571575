// SPDX-License-Identifier: MIT
// Tests that a jailed reader returns the same tables as a parser in this process. A
// file that ends the reader must not affect other files.
#include "libdtrace/symbols/reader/symbol_reader.hpp"

#include "base/message.hpp"
#include "libdtrace/symbols/debug/debug_folders.hpp"
#include "libdtrace/symbols/debug/debug_types.hpp"
#include "libdtrace/symbols/reader/protocol.hpp"
#include "libdtrace/symbols/reader/reader_server.hpp"
#include "process/jail/channel.hpp"
#include "process/regular_file.hpp"
#include "scratch.hpp"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace dt;

namespace {

constexpr std::uint64_t second_ns = 1'000'000'000;

ElfSource source_of(const std::string& path)
{
    return {open_regular(path), {}, path, ""};
}

std::shared_ptr<ElfImage> opened(const std::shared_ptr<SymbolReader>& reader,
                                 const std::string& path)
{
    auto image = reader->open(source_of(path));
    EXPECT_TRUE(image) << image.error().text;
    return image ? *image : nullptr;
}

// Returns everything that an image contains, in the form of the messages that transfer
// it.
std::vector<std::byte> contents(ElfImage& image)
{
    MessageWriter out;
    write_facts(out, image.facts());
    write_functions(out, image.functions());
    write_ranges(out, image.frame_functions());
    write_places(out, image.code_places());
    write_probes(out, image.static_probes());
    for (const Function* function : image.match("*a*::*"))
        out.put(function->addr);
    write_texts(out, image.suggest("mallok"));
    write_optional(out, image.find_variable("stdout"));
    write_texts(out, image.take_cuts());
    return out.body();
}

// A server that answers requests to open a file, and calls `answer` for all other
// requests.
template <class Answer> std::function<void(Fd)> server_with(Answer answer)
{
    return [answer](Fd socket) {
        const int raw = socket.get();
        Channel channel(std::move(socket));
        for (;;) {
            auto request = channel.receive();
            if (!request)
                return;
            if (request->word == reader_open) {
                MessageWriter out;
                write_facts(out, {});
                (void)channel.send(reader_ok, out.body());
            } else if (request->word != reader_close) {
                answer(channel, *request, raw);
            }
        }
    };
}

// Requests an image's functions from this server. Returns the messages about missing
// data (take_cuts()).
std::vector<std::string> cuts_with(std::function<void(Fd)> serve,
                                   ReaderProcess::Limits limits = {})
{
    auto reader = SymbolReader::create(std::move(serve), limits);
    auto image = opened(reader, VICTIM);
    EXPECT_TRUE(image->functions().all().empty());
    EXPECT_TRUE(image->match("*").empty());
    auto cuts = image->take_cuts();
    EXPECT_TRUE(image->take_cuts().empty()) << "reported twice";
    return cuts;
}

} // namespace

TEST(SymbolReader, ReturnsWhatAParserInThisProcessReturns)
{
    auto reader = SymbolReader::create();
    for (const std::string path :
         {VICTIM, PARTS, STATIC_VICTIM, PLUGIN, "/usr/bin/python3.11",
          "/lib/x86_64-linux-gnu/libc.so.6", SHAPES ".gcc_5.so"}) {
        auto parsed = ElfImage::open(path);
        ASSERT_TRUE(parsed) << path;
        auto jailed = opened(reader, path);
        ASSERT_TRUE(jailed) << path;
        EXPECT_EQ(contents(**parsed), contents(*jailed)) << path;
    }
}

TEST(SymbolReader, ReadsAnImageThatIsNotAFile)
{
    auto reader = SymbolReader::create();
    auto image = reader->open({{}, read_file(VICTIM), "[memory]", ""});
    ASSERT_TRUE(image);
    EXPECT_NE((*image)->functions().find("main"), nullptr);
    const Function* main = (*image)->functions().find("main");
    EXPECT_TRUE((*image)->bytes(main->addr, main->n_bytes));
}

TEST(SymbolReader, ReturnsTheErrorOfAFileThatIsNotElf)
{
    auto image = SymbolReader::create()->open(source_of("/etc/passwd"));
    ASSERT_FALSE(image);
    EXPECT_EQ(image.error().code, Code::corrupt);
    EXPECT_EQ(image.error().text, "/etc/passwd: not an ELF file");
}

TEST(SymbolReader, Demangles)
{
    auto reader = SymbolReader::create();
    EXPECT_EQ(reader->demangled_or_same("_Z3fooi"), "foo(int)");
    EXPECT_EQ(reader->demangled_or_same("_Zbroken"), "_Zbroken");
    EXPECT_EQ(reader->demangled_or_same("malloc"), "malloc");
}

TEST(SymbolReader, OpensFilesAgainIfTheReaderWasKilled)
{
    auto reader = SymbolReader::create();
    auto image = opened(reader, VICTIM), other = opened(reader, PLUGIN);
    auto slot = reader->slot_for_tables(source_of(VICTIM));
    auto process = slot->process(true);
    ASSERT_TRUE(process);
    ASSERT_EQ(::kill((*process)->pid(), SIGKILL), 0);
    EXPECT_FALSE(image->functions().all().empty());
    EXPECT_FALSE(other->functions().all().empty());
    EXPECT_EQ(slot->n_started(), 2U);
    EXPECT_TRUE(image->take_cuts().empty());
}

// A hostile file must not be able to forge the tables of another user's files.
TEST(SymbolReader, FilesOfDifferentOwnersHaveDifferentReaders)
{
    if (::geteuid() != 0)
        GTEST_SKIP() << "only root can give a file to another user";
    auto reader = SymbolReader::create();
    Scratch scratch;
    for (const char* name : {"mine", "theirs", "theirs_too", "writable"})
        std::filesystem::copy(VICTIM, scratch.path(name));
    for (const char* name : {"theirs", "theirs_too"})
        ASSERT_EQ(::chown(scratch.path(name).c_str(), 65534, 65534), 0);
    ASSERT_EQ(::chmod(scratch.path("mine").c_str(), 0755), 0);
    ASSERT_EQ(::chmod(scratch.path("writable").c_str(), 0777), 0);
    auto slot_of = [&](const char* name) {
        return reader->slot_for_tables(source_of(scratch.path(name)));
    };
    EXPECT_EQ(slot_of("mine"), slot_of("mine"));
    EXPECT_EQ(slot_of("theirs"), slot_of("theirs_too"));
    EXPECT_NE(slot_of("mine"), slot_of("theirs"));
    EXPECT_NE(slot_of("writable"), slot_of("mine"));
    EXPECT_NE(slot_of("writable"), slot_of("writable"));
    const ElfSource memory{{}, read_file(VICTIM), "[memory]", ""};
    EXPECT_NE(reader->slot_for_tables(memory), slot_of("mine"));
}

TEST(SymbolReader, ReportsAFileThatEndsTheReader)
{
    static std::atomic<int>* n_crashes = static_cast<std::atomic<int>*>(::mmap(
        nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    auto crash = [](Channel&, ReaderMessage&, int) {
        ++*n_crashes;
        std::signal(SIGSEGV, SIG_DFL);
        std::raise(SIGSEGV);
    };
    EXPECT_EQ(
        cuts_with(server_with(crash)),
        (std::vector<std::string>{"no symbols for " VICTIM
                                  ": its debug data ended the reader (signal 11)"}));
    // The request was repeated once, and no request was sent after that.
    EXPECT_EQ(*n_crashes, 2);
}

TEST(SymbolReader, AFileThatEndsTheReaderHarmsNoOtherFile)
{
    // This server crashes if it must search for a pattern. It passes all other requests
    // to a real reader.
    auto crash_on_match = [](Fd socket) {
        auto inner = ReaderProcess::start(serve_reader, {});
        Channel channel(std::move(socket));
        while (auto request = channel.receive()) {
            if (request->word == reader_match)
                std::abort();
            auto reply =
                (*inner)->call(request->word, request->body, request->fd.get(), {});
            (void)channel.send(reader_ok, reply
                                              ? std::span<const std::byte>(reply->body)
                                              : std::span<const std::byte>());
        }
    };
    auto reader = SymbolReader::create(crash_on_match, {});
    auto evil = opened(reader, VICTIM), innocent = opened(reader, PLUGIN);
    EXPECT_TRUE(evil->match("shop::*").empty());
    EXPECT_EQ(evil->take_cuts().size(), 1U);
    EXPECT_FALSE(innocent->functions().all().empty());
    EXPECT_TRUE(innocent->take_cuts().empty());
}

TEST(SymbolReader, OpensSeveralFilesTogether)
{
    // More files than are posted together.
    std::vector<ElfSource> sources;
    for (int i = 0; i < 50; ++i)
        sources.push_back(source_of(i % 10 == 3  ? "/etc/passwd"
                                    : i % 2 != 0 ? PLUGIN
                                                 : VICTIM));
    sources.push_back({{}, read_file(VICTIM), "[memory]", ""});
    auto reader = SymbolReader::create();
    const auto images = reader->open_all(std::move(sources));
    ASSERT_EQ(images.size(), 51U);
    for (std::size_t i = 0; i < 50; ++i) {
        if (i % 10 == 3) {
            ASSERT_FALSE(images[i]) << i;
            EXPECT_EQ(images[i].error().text, "/etc/passwd: not an ELF file");
            continue;
        }
        ASSERT_TRUE(images[i]) << i << ": " << images[i].error().text;
        EXPECT_EQ((*images[i])->path(), i % 2 != 0 ? PLUGIN : VICTIM);
        EXPECT_EQ((*images[i])->functions().find("main") != nullptr, i % 2 == 0) << i;
    }
    ASSERT_TRUE(images[50]);
    EXPECT_NE((*images[50])->functions().find("main"), nullptr);
    EXPECT_TRUE(reader->open_all({}).empty());
}

TEST(SymbolReader, OpensAllFilesExceptThoseThatEndTheReader)
{
    // This server crashes when it must open the library.
    auto crash_on_plugin = [](Fd socket) {
        Channel channel(std::move(socket));
        while (auto request = channel.receive()) {
            MessageReader in(request->body);
            (void)in.get<std::uint64_t>(); // the number of the file
            if (request->word == reader_open && in.text() == PLUGIN) {
                std::signal(SIGSEGV, SIG_DFL);
                std::raise(SIGSEGV);
            }
            MessageWriter out;
            write_facts(out, {});
            (void)channel.send(reader_ok, out.body());
        }
    };
    for (std::size_t bad = 0; bad < 5; ++bad) {
        std::vector<ElfSource> sources;
        for (std::size_t i = 0; i < 5; ++i)
            sources.push_back(source_of(i == bad || i == 4 ? PLUGIN : VICTIM));
        const auto images =
            SymbolReader::create(crash_on_plugin, {})->open_all(std::move(sources));
        ASSERT_EQ(images.size(), 5U);
        for (std::size_t i = 0; i < 5; ++i) {
            EXPECT_EQ(bool(images[i]), i != bad && i != 4) << bad << ", " << i;
            if (!images[i]) {
                EXPECT_EQ(images[i].error().text,
                          PLUGIN ": its debug data ended the reader (signal 11)");
            }
        }
    }
}

// The reader receives posted requests while it waits for dtrace's reply to its own
// request for a debug file.
TEST(SymbolReader, RequestsMayBePostedBeforeTheReaderNeedsAFile)
{
    auto process = ReaderProcess::start(serve_reader, {});
    ASSERT_TRUE(process);
    auto post = [&](ReaderWord word, std::uint64_t number, const std::string& path) {
        MessageWriter out;
        out.put(number);
        const Fd file = path.empty() ? Fd() : open_regular(path);
        if (file)
            out.text(path).text("");
        EXPECT_TRUE((*process)->post(word, out.body(), file.get()));
    };
    const std::string libc = "/lib/x86_64-linux-gnu/libc.so.6";
    post(reader_open, 1, libc);
    post(reader_functions, 1, "");
    post(reader_open, 2, VICTIM);
    post(reader_functions, 2, "");
    int n_wanted = 0;
    auto count = [&n_wanted](const std::string&) {
        ++n_wanted;
        return Fd();
    };
    for (const char* path : {libc.c_str(), VICTIM}) {
        auto facts = (*process)->finish(count);
        ASSERT_TRUE(facts) << facts.error().text;
        ElfFacts read;
        MessageReader in(facts->body);
        EXPECT_TRUE(read_facts(in, read)) << path;
        auto functions = (*process)->finish(count);
        ASSERT_TRUE(functions) << functions.error().text;
        FunctionTable table;
        MessageReader names(functions->body);
        EXPECT_TRUE(read_functions(names, table)) << path;
        EXPECT_NE(table.find(path == libc ? "malloc" : "main"), nullptr) << path;
    }
#ifndef __SANITIZE_ADDRESS__ // a build with the sanitizer opens files itself
    EXPECT_GT(n_wanted, 0);  // the debug file of libc
#endif
}

TEST(SymbolReader, LimitsTheTimeOfARequest)
{
    auto sleep = [](Channel&, ReaderMessage&, int) { ::pause(); };
    EXPECT_EQ(cuts_with(server_with(sleep), {60 * second_ns, second_ns}),
              (std::vector<std::string>{"no symbols for " VICTIM
                                        ": it could not be read within 1 s"}));
    auto spin = [](Channel&, ReaderMessage&, int) {
        for (std::atomic<int> i = 0;; ++i) {
        }
    };
    EXPECT_EQ(
        cuts_with(server_with(spin), {second_ns, 60 * second_ns}),
        (std::vector<std::string>{"no symbols for " VICTIM
                                  ": it took more than 1 s of CPU time to read"}));
}

TEST(SymbolReader, LimitsTheTimeOfAReaderThatSendsRequestsOfItsOwn)
{
    auto ask = [](Channel& channel, ReaderMessage&, int) {
        MessageWriter out;
        out.text("/usr/lib/debug/x");
        while (channel.send(reader_wants_file, out.body()) && channel.receive()) {
        }
    };
    EXPECT_EQ(cuts_with(server_with(ask), {60 * second_ns, 60 * second_ns, second_ns}),
              (std::vector<std::string>{"no symbols for " VICTIM
                                        ": it could not be read within 1 s"}));
}

TEST(SymbolReader, RefusesMalformedReplies)
{
    auto random = [](Channel& channel, ReaderMessage&, int) {
        std::vector<std::byte> bytes(300);
        for (std::byte& byte : bytes)
            byte = static_cast<std::byte>(std::rand());
        (void)channel.send(reader_ok, bytes);
    };
    const std::vector<std::string> refused{
        "no symbols for " VICTIM
        ": its debug data made the reader send an invalid message"};
    EXPECT_EQ(cuts_with(server_with(random)), refused);
    auto unknown = [](Channel& channel, ReaderMessage&, int) {
        (void)channel.send(12345, {});
    };
    EXPECT_EQ(cuts_with(server_with(unknown)), refused);
}

// The body of the message is in a file that is not a memfd. Such a file could be on a
// FUSE file system.
TEST(SymbolReader, RefusesABodyThatIsNotInAMemfd)
{
    auto in_a_file = [](Channel&, ReaderMessage&, int socket) {
        const Fd file(::open(VICTIM, O_RDONLY));
        struct {
            std::uint32_t word = reader_ok, in_memfd = 1;
            std::uint64_t n_bytes = 0;
            std::uint32_t n_fds = 1, has_news = 0;
        } header;
        header.n_bytes = std::filesystem::file_size(VICTIM);
        iovec part{&header, sizeof header};
        alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))]{};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        cmsghdr* rights = CMSG_FIRSTHDR(&message);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof(int));
        const int fd = file.get();
        std::memcpy(CMSG_DATA(rights), &fd, sizeof fd);
        ::sendmsg(socket, &message, 0);
    };
    EXPECT_EQ(cuts_with(server_with(in_a_file)),
              (std::vector<std::string>{
                  "no symbols for " VICTIM
                  ": its debug data made the reader send an invalid message"}));
}

// The reader may open the debug files of the image, and nothing else.
TEST(SymbolReader, OpensOnlyDebugFilesForTheReader)
{
    Scratch scratch;
    const std::string program = scratch.path("program");
    std::filesystem::copy(VICTIM, program);
    std::filesystem::create_directory(scratch.path(".debug"));
    for (const char* name : {"near.debug", ".debug/below.debug", "secret"})
        write_file(scratch.path(name), {std::byte{1}});
    std::filesystem::create_symlink("/dev/zero", scratch.path("device"));
    std::filesystem::create_directory(scratch.path("other"));
    write_file(scratch.path("other/secret"), {std::byte{1}});
    write_file(scratch.path(".debug/below.debug"), {std::byte{1}});

    // Answers each request with the names of the files that could be opened.
    auto probe = [folder = scratch.path("")](Channel& channel, ReaderMessage&, int) {
        std::vector<std::string> could;
        for (const std::string name :
             {"near.debug", ".debug/below.debug", "other/secret", "device",
              ".debug/../other/secret", "/etc/passwd", "/proc/self/mem",
              "/usr/lib/debug/../../../etc/passwd"}) {
            MessageWriter out;
            out.text(name[0] == '/' ? name : folder + name);
            (void)channel.send(reader_wants_file, out.body());
            auto reply = channel.receive();
            if (reply && reply->fd)
                could.push_back(name);
        }
        MessageWriter out;
        write_texts(out, could);
        (void)channel.send(reader_ok, out.body());
    };
    auto reader = SymbolReader::create(server_with(probe), {});
    auto image = opened(reader, program);
    EXPECT_EQ(image->suggest("x"),
              (std::vector<std::string>{"near.debug", ".debug/below.debug"}));
}

// Any damage to a valid message must be either detected or harmless.
TEST(SymbolReader, SurvivesDamagedMessages)
{
    auto image = ElfImage::open("/usr/bin/python3.11");
    auto types = ElfImage::open(SHAPES ".gcc_5.so");
    ASSERT_TRUE(image && types && (*types)->debug_types());
    DebugTypes& debug = **(*types)->debug_types();
    auto damage = [](const MessageWriter& valid, auto read) {
        for (int i = 0; i < 400; i++) {
            std::vector<std::byte> bytes = valid.body();
            for (int n = std::rand() % 4; n >= 0; n--) {
                // Most lengths and counts are at the beginning.
                const std::size_t range = i % 2 != 0 ? bytes.size() : 64;
                bytes[static_cast<std::size_t>(std::rand()) %
                      std::min(range, bytes.size())] =
                    static_cast<std::byte>(std::rand());
            }
            if (i % 5 == 0)
                bytes.resize(static_cast<std::size_t>(std::rand()) % bytes.size());
            MessageReader in(bytes);
            read(in);
        }
    };
    MessageWriter facts, functions, places, probes, type;
    write_facts(facts, (*image)->facts());
    damage(facts, [](MessageReader& in) {
        ElfFacts read;
        read_facts(in, read);
    });
    write_functions(functions, (*types)->functions());
    damage(functions, [](MessageReader& in) {
        FunctionTable table;
        if (read_functions(in, table))
            for (const Function& function : table.all())
                (void)table.find(table.name(function));
    });
    write_places(places, (*types)->code_places());
    damage(places, [](MessageReader& in) {
        CodePlaces read;
        read_places(in, read);
    });
    write_probes(probes, (*image)->static_probes());
    damage(probes, [](MessageReader& in) {
        StaticProbes read;
        read_probes(in, read);
    });
    for (std::string_view name : debug.names(DebugTypes::Kind::Struct))
        if (auto ref = debug.find(DebugTypes::Kind::Struct, name)) {
            write_type(type, debug.type(*ref));
            damage(type, [](MessageReader& in) {
                DebugType read;
                read_type(in, read);
            });
        }
}
