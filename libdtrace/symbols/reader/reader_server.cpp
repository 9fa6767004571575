// SPDX-License-Identifier: MIT
#include "libdtrace/symbols/reader/reader_server.hpp"

#include "libdtrace/symbols/demangle.hpp"
#include "libdtrace/symbols/elf/parsed_elf.hpp"
#include "libdtrace/symbols/reader/protocol.hpp"
#include "process/jail/channel.hpp"
#include "process/jail/jail.hpp"

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace dt {

namespace {

class ReaderServer final : public JailBroker {
public:
    explicit ReaderServer(Fd socket)
        : socket_(socket.get()), channel_(std::move(socket))
    {
    }

    void run()
    {
        if (auto jailed = enter_jail(socket_, *this); !jailed) {
            MessageWriter out;
            write_error(out, jailed.error().during("enter the jail of the reader"));
            (void)channel_.send(reader_error, out.body());
            return;
        }
        for (;;) {
            auto request = next_request();
            if (!request || !answer(*request))
                return;
        }
    }

    Fd open_file(const char* path) override
    {
        MessageWriter out;
        out.text(path);
        if (!channel_.send(reader_wants_file, out.body()))
            return {};
        auto reply = receive_reply();
        return reply ? std::move(reply->fd) : Fd();
    }

    std::string path_of(int fd) override
    {
        if (!channel_.send(reader_wants_path, {}, fd))
            return {};
        auto reply = receive_reply();
        return reply ? MessageReader(reply->body).text() : std::string();
    }

private:
    using Reply = Result<MessageWriter>;

    Result<ReaderMessage> next_request()
    {
        if (posted_.empty())
            return channel_.receive();
        ReaderMessage next = std::move(posted_.front());
        posted_.pop_front();
        return next;
    }

    // Receives dtrace's reply to a request of the reader. dtrace may have posted
    // requests before it.
    Result<ReaderMessage> receive_reply()
    {
        for (;;) {
            auto message = channel_.receive();
            if (!message || message->word == reader_ok)
                return message;
            posted_.push_back(std::move(*message));
        }
    }

    bool answer(ReaderMessage& request)
    {
        Reply reply = Error{Code::invalid, "unknown request"};
        MessageReader in(request.body);
        try {
            switch (request.word) {
#define X(name)                                                                        \
    case reader_##name:                                                                \
        reply = name(in, request);                                                     \
        break;
                READER_REQUESTS(X)
#undef X
            case reader_demangle:
                reply = demangle_name(in);
                break;
            default:
                break;
            }
        } catch (const std::bad_alloc&) {
            reply = Error{Code::limit, "it needs too much memory"};
        }
        if (reply)
            return static_cast<bool>(
                channel_.send(reader_ok, reply->body(), -1, collect_cuts(request)));
        MessageWriter out;
        write_error(out, reply.error());
        return static_cast<bool>(channel_.send(reader_error, out.body()));
    }

    // Collects new messages about truncated tables of the image that the request was
    // about. Returns whether there are messages that dtrace has not requested yet.
    bool collect_cuts(const ReaderMessage& request)
    {
        if (request.word == reader_close || request.word == reader_demangle)
            return false;
        const auto number = MessageReader(request.body).get<std::uint64_t>();
        auto cuts = images_.at(number)->take_cuts();
        if (!cuts.empty())
            std::ranges::move(cuts, std::back_inserter(cuts_[number]));
        auto collected = cuts_.find(number);
        return collected != cuts_.end() && !collected->second.empty();
    }

    // dtrace chooses the numbers of images. An unknown number is a defect of dtrace.
    ParsedElf& image(MessageReader& in)
    {
        return *images_.at(in.get<std::uint64_t>());
    }

    Reply open(MessageReader& in, ReaderMessage& request)
    {
        const auto number = in.get<std::uint64_t>();
        ElfSource source;
        source.path = in.text();
        source.root = in.text();
        if (request.fd) {
            source.fd = std::move(request.fd);
        } else {
            auto bytes = in.bytes(in.left());
            source.bytes.assign(bytes.begin(), bytes.end());
        }
        auto parsed = ParsedElf::open(std::move(source));
        if (!parsed)
            return parsed.error();
        MessageWriter out;
        write_facts(out, (*parsed)->facts());
        images_[number] = std::move(*parsed);
        return out;
    }

    Reply close(MessageReader& in, ReaderMessage&)
    {
        for (std::uint64_t number : in.list<std::uint64_t>()) {
            images_.erase(number);
            cuts_.erase(number);
        }
        return MessageWriter();
    }

    Reply functions(MessageReader& in, ReaderMessage&)
    {
        MessageWriter out;
        write_functions(out, image(in).functions());
        return out;
    }

    Reply match(MessageReader& in, ReaderMessage&)
    {
        ParsedElf& elf = image(in);
        const Function* first = elf.functions().all().data();
        std::vector<std::uint32_t> indices;
        for (const Function* function : elf.match(in.text()))
            indices.push_back(static_cast<std::uint32_t>(function - first));
        MessageWriter out;
        out.list(indices);
        return out;
    }

    Reply suggest(MessageReader& in, ReaderMessage&)
    {
        ParsedElf& elf = image(in);
        MessageWriter out;
        write_texts(out, elf.suggest(in.text()));
        return out;
    }

    Reply take_cuts(MessageReader& in, ReaderMessage&)
    {
        MessageWriter out;
        write_texts(out, std::exchange(cuts_[in.get<std::uint64_t>()], {}));
        return out;
    }

    Reply find_variable(MessageReader& in, ReaderMessage&)
    {
        ParsedElf& elf = image(in);
        MessageWriter out;
        write_optional(out, elf.find_variable(in.text()));
        return out;
    }

    Reply variable_at(MessageReader& in, ReaderMessage&)
    {
        ParsedElf& elf = image(in);
        const DataSymbol found = elf.variable_or_gap_at(in.get<std::uint64_t>());
        MessageWriter out;
        out.put(found.addr).put(found.from).put(found.end).text(found.name);
        return out;
    }

    Reply has_types(MessageReader& in, ReaderMessage&)
    {
        MessageWriter out;
        out.put<std::uint8_t>(image(in).has_debug_types());
        return out;
    }

    Reply open_types(MessageReader& in, ReaderMessage&)
    {
        if (auto opened = image(in).debug_types(); !opened)
            return opened.error();
        return MessageWriter();
    }

    Reply frame_functions(MessageReader& in, ReaderMessage&)
    {
        MessageWriter out;
        write_ranges(out, image(in).frame_functions());
        return out;
    }

    Reply code_places(MessageReader& in, ReaderMessage&)
    {
        MessageWriter out;
        write_places(out, image(in).code_places());
        return out;
    }

    Reply static_probes(MessageReader& in, ReaderMessage&)
    {
        MessageWriter out;
        write_probes(out, image(in).static_probes());
        return out;
    }

    // The client requests types only after open_types succeeded.
    DebugTypes& types(MessageReader& in)
    {
        return **image(in).debug_types();
    }

    Reply find_type(MessageReader& in, ReaderMessage&)
    {
        DebugTypes& all = types(in);
        const auto kind = static_cast<DebugTypes::Kind>(in.get<std::uint8_t>());
        MessageWriter out;
        write_optional(out, all.find(kind, in.text()));
        return out;
    }

    Reply find_type_variable(MessageReader& in, ReaderMessage&)
    {
        DebugTypes& all = types(in);
        auto found = all.find_variable(in.text());
        MessageWriter out;
        out.put<std::uint8_t>(found.has_value());
        if (found) {
            out.put(found->type).put<std::uint8_t>(found->per_cpu);
            write_optional(out, found->addr);
        }
        return out;
    }

    Reply find_enumerator(MessageReader& in, ReaderMessage&)
    {
        DebugTypes& all = types(in);
        MessageWriter out;
        write_optional(out, all.find_enumerator(in.text()));
        return out;
    }

    Reply function_at(MessageReader& in, ReaderMessage&)
    {
        DebugTypes& all = types(in);
        auto found = all.function_at(in.get<std::uint64_t>());
        MessageWriter out;
        out.put<std::uint8_t>(found.has_value());
        if (found)
            write_function(out, *found);
        return out;
    }

    Reply type(MessageReader& in, ReaderMessage&)
    {
        DebugTypes& all = types(in);
        MessageWriter out;
        write_type(out, all.type(in.get<DebugRef>()));
        return out;
    }

    Reply type_names(MessageReader& in, ReaderMessage&)
    {
        DebugTypes& all = types(in);
        const auto names =
            all.names(static_cast<DebugTypes::Kind>(in.get<std::uint8_t>()));
        MessageWriter out;
        out.put<std::uint64_t>(names.size());
        for (std::string_view name : names)
            out.text(name);
        return out;
    }

    static Reply demangle_name(MessageReader& in)
    {
        MessageWriter out;
        const std::string name = in.text();
        out.text(demangle(name).value_or(name));
        return out;
    }

    int socket_;
    Channel channel_;
    std::deque<ReaderMessage> posted_; // requests that were received early
    std::map<std::uint64_t, std::unique_ptr<ParsedElf>> images_;
    // The messages of take_cuts() that dtrace has not requested yet, for each image.
    std::map<std::uint64_t, std::vector<std::string>> cuts_;
};

} // namespace

void serve_reader(Fd socket)
{
    ReaderServer(std::move(socket)).run();
}

} // namespace dt
