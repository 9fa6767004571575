/* An inline cannot be defined twice. */
inline int LIMIT = 3;
inline int LIMIT = 4;
BEGIN { exit(0); }
