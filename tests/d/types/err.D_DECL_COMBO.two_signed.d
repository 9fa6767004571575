/* signed is written once. */
BEGIN { trace((signed signed int)1); }
