// Host code for the cases beside it: c++ -O2 -c host.cpp -o host.o
int limit = 100;
namespace grid {
float scale[4] = {1, 2, 3, 4};
}
static const int squares[4] = {0, 1, 4, 9};
int square(int i) { return squares[i & 3]; }
