/* An inline takes no value. */
inline int LIMIT = 3;
BEGIN { LIMIT = 4; }
