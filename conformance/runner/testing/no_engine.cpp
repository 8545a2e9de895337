// A library that is no adapter.
extern "C" int gradcts_no_adapter() { return 0; }
