/* The number of frames is not negative. */
BEGIN { ustack(-1); }
