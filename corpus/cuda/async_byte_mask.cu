// targets: sm_100a
// why: the mask of a bulk copy has some of the bytes that are written by stores

#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define INIT(bar, count) \
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(SHARED(bar)), "r"(count) : "memory")
#define EXPECT(bar, bytes) \
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(SHARED(bar)), "r"(static_cast<unsigned>(bytes)) : "memory")
#define WAIT(bar, parity)                                                                                         \
  asm volatile("{\n\t.reg .pred done;\nagain:\n\tmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"    \
               "@!done bra again;\n\t}" ::"r"(SHARED(bar)), "r"(parity) : "memory")
#define BULK_LOAD(to, from, bytes, bar)                                                                     \
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"( \
                   SHARED(to)), "l"(__cvta_generic_to_global(from)), "r"(static_cast<unsigned>(bytes)), "r"(SHARED(bar)) : "memory")
#define BULK_STORE_MASKED(to, from, bytes, mask)                                                                          \
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%0], [%1], %2, %3;" ::"l"(__cvta_generic_to_global(to)), \
               "r"(SHARED(from)), "r"(static_cast<unsigned>(bytes)), "h"(static_cast<unsigned short>(mask)) : "memory")
#define BULK_COMMIT() asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define BULK_WAIT_READ(n) asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(n) : "memory")

using Barrier = unsigned long long;

__global__ void stored_before(char *out, const char *in) {
  __shared__ alignas(128) char tile[256];
  __shared__ Barrier full;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    EXPECT(&full, 256);
    BULK_LOAD(tile, in, 256, &full);
    WAIT(&full, 0);
    *(volatile int *)(tile + 20) = 1;
    BULK_STORE_MASKED(out, tile, 256, 0x0080);  //~ PTX701
    BULK_COMMIT();
    BULK_WAIT_READ(0);
  }
}

__global__ void stored_behind(char *out, const char *in) {
  __shared__ alignas(128) char tile[256];
  __shared__ Barrier full;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    EXPECT(&full, 256);
    BULK_LOAD(tile, in, 256, &full);
    WAIT(&full, 0);
    BULK_STORE_MASKED(out, tile + 32, 128, 0x8000);
    BULK_COMMIT();
    *(volatile char *)(tile + 79) = 1;  //~ PTX704
    BULK_WAIT_READ(0);
  }
}
