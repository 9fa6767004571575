/* An inline is defined once. */
inline int LIMIT = 3;
inline int LIMIT = 4;
BEGIN { exit(0); }
