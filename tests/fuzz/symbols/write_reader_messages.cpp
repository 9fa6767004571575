// SPDX-License-Identifier: MIT
// write_reader_messages FILE DIRECTORY: parses an ELF file, and writes messages with the
// results to the directory. They are a corpus for reader_messages_fuzz.
#include "tests/fuzz/symbols/reader_messages.hpp"

#include "libdtrace/symbols/elf/elf_image.hpp"
#include "libdtrace/symbols/reader/protocol.hpp"

#include <cstdio>
#include <fstream>

using namespace dt;

namespace {

class Corpus {
public:
    explicit Corpus(std::string folder) : folder_(std::move(folder)) {}
    template <class Write, class T>
    void add(fuzz::MessageKind kind, Write write_one, const T& value)
    {
        MessageWriter message;
        message.put(kind);
        write_one(message, value);
        const auto body = message.body();
        std::ofstream out(folder_ + "/message" + std::to_string(n_++));
        out.write(reinterpret_cast<const char*>(body.data()),
                  static_cast<std::streamsize>(body.size()));
        failed_ |= !out.flush();
    }
    bool failed() const { return failed_; }

private:
    std::string folder_;
    unsigned n_ = 0;
    bool failed_ = false;
};

void add_types(Corpus& corpus, DebugTypes& types, const FunctionTable& functions)
{
    for (auto kind : {DebugTypes::Kind::Ordinary, DebugTypes::Kind::Struct,
                      DebugTypes::Kind::Union, DebugTypes::Kind::Enum}) {
        std::vector<std::string> names;
        for (std::string_view name : types.names(kind)) {
            names.emplace_back(name);
            if (auto ref = types.find(kind, name))
                corpus.add(fuzz::message_type, write_type, types.type(*ref));
        }
        corpus.add(fuzz::message_texts, write_texts, names);
    }
    if (auto variable = types.find_variable("table"))
        corpus.add(fuzz::message_type, write_type, types.type(variable->type));
    for (const Function& function : functions.all())
        if (auto found = types.function_at(function.addr))
            corpus.add(fuzz::message_function, write_function, *found);
}

} // namespace

int main(int argc, char** argv)
{
    if (argc != 3) {
        std::fprintf(stderr, "usage: write_reader_messages FILE DIRECTORY\n");
        return 2;
    }
    auto opened = ElfImage::open(argv[1]);
    if (!opened) {
        std::fprintf(stderr, "%s\n", opened.error().text.c_str());
        return 1;
    }
    ElfImage& image = **opened;
    Corpus corpus(argv[2]);
    corpus.add(fuzz::message_facts, write_facts, image.facts());
    corpus.add(fuzz::message_functions, write_functions, image.functions());
    corpus.add(fuzz::message_ranges, write_ranges, image.frame_functions());
    corpus.add(fuzz::message_places, write_places, image.code_places());
    corpus.add(fuzz::message_probes, write_probes, image.static_probes());
    corpus.add(fuzz::message_texts, write_texts, image.suggest("fooo"));
    corpus.add(fuzz::message_error, write_error, Error{Code::corrupt, "no ELF", 2});
    if (auto types = image.debug_types())
        add_types(corpus, **types, image.functions());
    return corpus.failed() ? 1 : 0;
}
