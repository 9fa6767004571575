/* Variables that only a kernel knows are refused by name. */
BEGIN { trace(curthread); }
