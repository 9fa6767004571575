// SPDX-License-Identifier: MIT
#include "building.hpp"

#include "report.hpp"
#include "tracing.hpp"

#include <cerrno>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

namespace {

std::string without_folder(const std::string& script)
{
    return script.substr(script.rfind('/') + 1);
}

// Returns the script's name with a different ending: dir/provider.d -> dir/provider.o.
std::string name_for(const std::string& script, const char* ending)
{
    std::size_t slash = script.rfind('/'), dot = script.rfind('.');
    bool has_ending = dot != script.npos && (slash == script.npos || dot > slash + 1);
    return script.substr(0, has_ending ? dot : script.npos) + ending;
}

// Removes the incomplete header, which a build tool could use by mistake. Then exits
// with a message.
[[noreturn]] void fail_writing(dtrace_hdl_t* session, const std::string& path,
                               const std::string& why)
{
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode))
        ::unlink(path.c_str());
    dtrace_close(session);
    die(nullptr, "failed to write header %s: %s", path.c_str(), why.c_str());
}

int write_header(dtrace_hdl_t* session, const std::string& script,
                 const std::string& path)
{
    char* text = nullptr;
    std::size_t size = 0;
    FILE* memory = open_memstream(&text, &size);
    if (memory == nullptr)
        die(nullptr, "failed to write header: %s", std::strerror(errno));
    const std::string source = without_folder(script);
    if (dtrace_program_header(session, memory, source.c_str()) != 0)
        die(session, "failed to make a header from %s", script.c_str());
    std::fclose(memory);
    FILE* file = std::fopen(path.c_str(), "we");
    if (file == nullptr)
        die(nullptr, "failed to open header %s: %s", path.c_str(),
            std::strerror(errno));
    bool written = std::fwrite(text, 1, size, file) == size;
    written = std::fclose(file) == 0 && written;
    std::free(text);
    if (!written)
        fail_writing(session, path, std::strerror(errno));
    return 0;
}

int write_object(dtrace_hdl_t* session, dtrace_prog_t* prog, const Arguments& args,
                 const std::string& path)
{
    const std::string& script = args.pieces.front().text;
    // A script without providers is accepted, because configure scripts use one to test
    // -G.
    if (dtrace_program_providers(session, prog) == 0)
        say("%s defines no provider: %s will have no probes", script.c_str(),
            path.c_str());
    std::vector<char*> objects;
    for (const std::string& object : args.operands)
        objects.push_back(const_cast<char*>(object.c_str()));
    if (dtrace_program_link(session, prog, DTRACE_D_PROBES, path.c_str(),
                            static_cast<int>(objects.size()), objects.data()) != 0)
        die(session, "failed to link script %s", script.c_str());
    return 0;
}

bool is_same_file(const std::string& one, const std::string& other)
{
    struct stat a {
    }, b{};
    return ::stat(one.c_str(), &a) == 0 && ::stat(other.c_str(), &b) == 0 &&
           a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// Exits with a message if the output file is the script itself or one of the objects.
void refuse_to_overwrite(const std::string& path, const Arguments& args)
{
    if (is_same_file(path, args.pieces.front().text))
        die(nullptr, "%s is the script itself; use -o to name a different output file",
            path.c_str());
    for (const std::string& object : args.operands)
        if (is_same_file(path, object))
            die(nullptr,
                "%s is one of the input objects; use -o to name a different output "
                "file",
                path.c_str());
}

} // namespace

int build(dtrace_hdl_t* session, const Arguments& args)
{
    const Piece& piece = args.pieces.front();
    bool is_header = args.mode == Mode::Header;
    std::string path = args.output;
    if (path.empty()) // default names, the same as on other systems
        path = is_header                    ? name_for(without_folder(piece.text), ".h")
               : piece.text.ends_with(".d") ? name_for(piece.text, ".o")
                                            : "d.out";
    refuse_to_overwrite(path, args);
    dtrace_prog_t* prog = compile_piece(session, args, piece);
    return is_header ? write_header(session, piece.text, path)
                     : write_object(session, prog, args, path);
}
