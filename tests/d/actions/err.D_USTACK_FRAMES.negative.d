/* The number of frames must not be negative. */
BEGIN { ustack(-1); }
