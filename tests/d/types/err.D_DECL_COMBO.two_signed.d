/* A cast cannot contain signed twice. */
BEGIN { trace((signed signed int)1); }
