// SPDX-License-Identifier: MIT
// The rows of dtrace(1)'s output: the text that dtrace(1) prints before and after the
// text that libdtrace prints for a record.
//
//   CPU     ID                    FUNCTION:NAME     the header, before the first row
//     0      1                           :BEGIN     before the record, without newline
//
// With -x flowindent, a row is the CPU and the function, indented by its depth. Without
// it, -x quiet omits the rows. The formats for programs (-x format) have no rows.
#pragma once

#include <dtrace.h>

#include <cstdio>

// Returns whether an option is set and is not 0.
bool is_on(dtrace_hdl_t* session, const char* option);

class Rows {
public:
    Rows(dtrace_hdl_t* session, FILE* out) : session_(session), out_(out) {}

    // Reads -x flowindent and -x format. Must be called before the first record, and
    // when one of these options has changed.
    void read_options();
    // Returns whether the output is text for people.
    bool is_text() const { return text_; }
    // Prints a row before its record.
    void begin(const dtrace_probedata_t& data);
    // Ends the row after its record.
    void end();

private:
    dtrace_hdl_t* session_;
    FILE* out_;
    bool header_done_ = false;
    bool flowindent_ = false;
    bool text_ = true; // -x format
    // Whether the current record has a row. It is stored because processing the record
    // may change the options.
    bool has_row_ = true;
    bool quiet_ = false;
};
