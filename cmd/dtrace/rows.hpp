// SPDX-License-Identifier: MIT
// Prints the rows of dtrace(1)'s output. A row is the text that dtrace(1) adds before
// and after the text that libdtrace prints for a record.
//
//   CPU     ID                    FUNCTION:NAME     the header, before the first row
//     0      1                           :BEGIN     a row, before the record's text
//
// With -x flowindent, a row is the CPU and the function, which is indented by its call
// depth. With -x quiet, rows are printed only if -x flowindent is set. A format for
// programs, such as -x format=json, has no rows.
#pragma once

#include <dtrace.h>

#include <cstdio>

// Returns whether an option is set and is not 0.
bool is_on(dtrace_hdl_t* session, const char* option);

class Rows {
public:
    Rows(dtrace_hdl_t* session, FILE* out) : session_(session), out_(out) {}

    // Reads the values of -x flowindent and -x format. Must be called before the first
    // record, and after each change of one of these options.
    void read_options();
    bool is_text() const { return text_; }
    // Prints the row of a record, before the record's text and without a newline.
    void begin(const dtrace_probedata_t& data);
    // Prints the newline at the end of the row, after the record's text.
    void end();

private:
    dtrace_hdl_t* session_;
    FILE* out_;
    bool header_done_ = false;
    bool flowindent_ = false;
    bool text_ = true; // whether -x format selects text
    // Whether -x format selected text, and the value of -x quiet, at the beginning of
    // the current record. An action of the record may change the options.
    bool has_row_ = true;
    bool quiet_ = false;
};
