// SPDX-License-Identifier: MIT
// A plugin of replacer. ROOM is the size of its frame: two of these are alike in all else,
// so that the same place of the text belongs to another frame. It is full of zeroes, which
// are nobody's return address.
long plugin_call(long (*callback)(long), long n)
{
    volatile char room[ROOM] = {0};

    room[n & 63] = 1;
    return callback(n) + room[n & 63];
}
