#define OTHER 17
