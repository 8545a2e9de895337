/* A library that is no adapter. */
int gradcts_no_adapter(void) { return 0; }
