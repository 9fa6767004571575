/* An inline cannot be assigned a value. */
inline int LIMIT = 3;
BEGIN { LIMIT = 4; }
