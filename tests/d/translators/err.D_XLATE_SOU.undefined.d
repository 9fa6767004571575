/* What a translator makes is known. */
translator struct nowhere < int i > { o = i; };
