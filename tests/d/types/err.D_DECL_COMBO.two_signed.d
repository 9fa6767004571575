/* signed may be written only once. */
BEGIN { trace((signed signed int)1); }
