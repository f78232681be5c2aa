// SMO on working sets: one working set in one cluster of CLUSTER blocks of THREADS threads, POINTS points a thread.
//
// The problem of a working set (docs/math/engine.md): v = p - K beta less the level in the middle, the box, the penalty
// e, positions from `split` on are a second group. A step takes the point i with the largest rise of the group at work,
// the partner j with the largest ascent of the pair (Fan, Chen and Lin 2005), and moves beta_i up and beta_j down to the
// maximum on the line, to a bound or to a kink at zero. Each step reads two rows and needs two winners of the cluster.
//
// The matrix U holds -K up to a constant (1 - K in units of UNIT for kernels with a unit diagonal), and `diagonal` that
// of K under the same change, so that the curvature of a pair is D_i + D_j + 2 U_ij and v changes by d (U_j - U_i).
//
// v and whether beta may rise or fall are in registers. beta and the box are touched by the winners only: they are in
// shared memory, because a barrier of the cluster empties the first cache (without clusters it does not, and they stay
// where they are). Each block sends its candidate into the shared memory of the others, and fetches the row of that
// candidate into the cache while it waits for theirs.
//
// The host defines: Element (of U), Real (of v), UNIT, LEAST (curvature, relative to D_i + D_j or absolute), POINTS,
// THREADS, CLUSTER, FLAT (the diagonal is zero). Without CUDA the same source is C++ with one thread, which owns all
// points: the twin of the tests.
#ifdef __CUDACC__
#define EACH_POINT _Pragma("unroll") for (int p = 0; p < POINTS; ++p)
#define SHARED __shared__
#define THREAD static_cast<int>(threadIdx.x)
#define BLOCK static_cast<int>(blockIdx.x)
#define BLOCKS static_cast<int>(gridDim.x)
#define OWNED POINTS
#else
#include <algorithm>
#include <cmath>
#include <cstring>
using std::fmax, std::fmin;
#define EACH_POINT for (int p = 0; p < task.size; ++p)
#define SHARED
#define THREAD 0
#define BLOCK 0
#define BLOCKS 1
#define OWNED 65536
#endif

#ifndef __CUDACC__
namespace {  // several variants in one process must not share a name
#endif

typedef unsigned long long Word;

/// A working set; the arrays are in the memory of the device.
struct Task {
    const Element* u;  // rows of `stride` elements
    const Real* diagonal;
    const double *lower, *upper;
    double* beta;
    Real* v;
    double* result;  // steps, violation, whether rounding ended the progress
    long long size, stride, split, most;
    double tol, e;
};

/// A candidate and the largest `extra` of all points.
struct alignas(16) Best {
    unsigned key, extra;
    int at, pad;
    Real v;
    float curve;
    double room;
};

#ifdef __CUDACC__
__device__ __forceinline__ unsigned bits(float x) { return __float_as_uint(x); }
__device__ __forceinline__ float unbits(unsigned u) { return __uint_as_float(u); }
#else
inline unsigned bits(float x) {
    unsigned u;
    std::memcpy(&u, &x, 4);
    return u;
}
inline float unbits(unsigned u) {
    float x;
    std::memcpy(&x, &u, 4);
    return x;
}
#define __device__
#define __forceinline__ inline
#endif

/// Unsigned integers in the order of the numbers; zero is below all of them.
__device__ __forceinline__ unsigned ordered(float x) {
    const unsigned u = bits(x);
    return u & 0x80000000u ? ~u : u | 0x80000000u;
}
__device__ __forceinline__ float unordered(unsigned u) { return unbits(u & 0x80000000u ? u & 0x7fffffffu : ~u); }

/// beta and the box of the points of a block; `kinked`: the objective has a kink where beta is zero.
struct Box {
    double* beta;
    const double *lower, *upper;
    int first;  // position of the first one
    bool kinked;

    /// How far beta of a point may rise or fall: to its bound or to the kink.
    __device__ __forceinline__ double room(int t, bool rises) const {
        const double now = beta[t - first];
        if (rises) return (kinked && now < 0 ? 0.0 : upper[t - first]) - now;
        return now - (kinked && now > 0 ? 0.0 : lower[t - first]);
    }
};

#ifdef __CUDACC__

__device__ __forceinline__ unsigned largest(unsigned x) {
#if __CUDA_ARCH__ >= 800
    return __reduce_max_sync(~0u, x);
#else
    for (int step = 16; step > 0; step /= 2) x = max(x, __shfl_xor_sync(~0u, x, step));
    return x;
#endif
}
/// The first lane that holds the largest key, and that key.
__device__ __forceinline__ int first_with(unsigned key, unsigned top) {
    return __ffs(static_cast<int>(__ballot_sync(~0u, key == top))) - 1;
}
__device__ __forceinline__ void cluster_barrier() {
#if CLUSTER > 1
    asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
#else
    __syncthreads();
#endif
}
__device__ __forceinline__ unsigned cluster_rank() {
#if CLUSTER > 1
    unsigned rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
#else
    return 0;
#endif
}
#if CLUSTER > 1
/// Address of a shared variable in another block of the cluster.
__device__ __forceinline__ unsigned in_block(const void* own, unsigned rank) {
    unsigned far;
    const unsigned near = static_cast<unsigned>(__cvta_generic_to_shared(own));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(far) : "r"(near), "r"(rank));
    return far;
}
/// Send a candidate to another block; its barrier counts the bytes that have arrived.
__device__ __forceinline__ void send(const Best& best, Best* slot, Word* arrived, unsigned rank) {
    const uint4* const words = reinterpret_cast<const uint4*>(&best);
    const unsigned to = in_block(slot, rank), barrier = in_block(arrived, rank);
#pragma unroll
    for (int k = 0; k < static_cast<int>(sizeof(Best) / 16); ++k)
        asm volatile(
            "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(
                to + 16 * k),
            "r"(words[k].x), "r"(words[k].y), "r"(words[k].z), "r"(words[k].w), "r"(barrier)
            : "memory");
}
__device__ __forceinline__ void begin_phases(Word* arrived) {
    const unsigned own = static_cast<unsigned>(__cvta_generic_to_shared(arrived));
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(own) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ __forceinline__ void expect(Word* arrived, unsigned bytes) {
    const unsigned own = static_cast<unsigned>(__cvta_generic_to_shared(arrived));
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(own), "r"(bytes) : "memory");
}
__device__ __forceinline__ void wait_for_phase(Word* arrived, unsigned phase) {
    const unsigned own = static_cast<unsigned>(__cvta_generic_to_shared(arrived));
    asm volatile(
        "{\n\t.reg .pred done;\n"
        "again:\n\tmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
        "\t@!done bra again;\n\t}" ::"r"(own),
        "r"(phase)
        : "memory");
}
#endif
__device__ __forceinline__ void fetch_row(const Task& task, int at) {
    const long long bytes = task.size * static_cast<long long>(sizeof(Element));
    const char* const row = reinterpret_cast<const char*>(task.u + at * task.stride);
    for (long long k = THREAD * 128ll; k < bytes; k += THREADS * 128ll)
        asm volatile("prefetch.global.L2 [%0];" ::"l"(row + k));
}

/// Candidates of the warps of a block and of the blocks of a cluster. A candidate of a block is sent to all blocks, and
/// `arrived` counts bytes: no barrier of the cluster is needed. A block sends the next candidate of this exchange only
/// after all have sent that of the other exchange, which they do after reading the last one of this.
struct Exchange {
    Best warps[32], blocks[CLUSTER];
    Word arrived;
};
/// The winner of the cluster, for every thread; only candidates of warps look up their room.
__device__ __forceinline__ Best winner(const Task& task, const Box& box, Best own, bool rises, Exchange* shared,
                                       unsigned rank, unsigned& phase) {
    constexpr int warps = THREADS / 32;
    const int lane = THREAD & 31, warp = THREAD >> 5;
    const unsigned top = largest(own.key), extra = largest(own.extra);
    if (lane == first_with(own.key, top)) {
        own.extra = extra;
        if (top > 0) own.room = box.room(own.at, rises);
        shared->warps[warp] = own;
    }
    __syncthreads();
    const Best* const of_warp = &shared->warps[lane < warps ? lane : 0];
    const unsigned key = of_warp->key, all = largest(key), most = largest(of_warp->extra);
    const int from = first_with(key, all);
#if CLUSTER > 1
    if (warp == 0) {
        Best block = shared->warps[from];
        block.extra = most;
        if (lane == 0) expect(&shared->arrived, CLUSTER * sizeof(Best));
        if (lane < CLUSTER) send(block, &shared->blocks[rank], &shared->arrived, lane);
    }
    if (all > 0) fetch_row(task, shared->warps[from].at);
    wait_for_phase(&shared->arrived, phase);
    phase ^= 1;
#else
    Best block = shared->warps[from];
    block.extra = most;
    __syncthreads();  // the next candidates are written where these are read
    return block;
#endif
#if CLUSTER > 1
    const Best* const of_block = &shared->blocks[lane & (CLUSTER - 1)];
    const unsigned last = of_block->key, best = largest(last), sum = largest(of_block->extra);
    Best found = shared->blocks[first_with(last, best) & (CLUSTER - 1)];
    found.extra = sum;
    return found;
#endif
}
template <int bytes> struct Words;
template <> struct Words<2> { typedef unsigned short type; };
template <> struct Words<4> { typedef unsigned int type; };
template <> struct Words<8> { typedef uint2 type; };
template <> struct Words<16> { typedef uint4 type; };
/// Elements of a row at the points of a thread, read past the first cache: that one holds beta and the box.
__device__ __forceinline__ void read_row(const Task& task, int row, int first, Element (&out)[POINTS]) {
    if (first >= task.size) return;
    constexpr int bytes = sizeof(Element) * POINTS < 16 ? sizeof(Element) * POINTS : 16;
    constexpr int each = bytes / sizeof(Element);
    typedef typename Words<bytes>::type Pack;
    const Pack* const from = reinterpret_cast<const Pack*>(task.u + row * task.stride + first);
#pragma unroll
    for (int k = 0; k < POINTS / each; ++k) {
        const Pack pack = __ldcg(from + k);
#pragma unroll
        for (int m = 0; m < each; ++m) out[k * each + m] = reinterpret_cast<const Element*>(&pack)[m];
    }
}

#else

struct Exchange {};
inline Best winner(const Task&, const Box& box, Best own, bool rises, Exchange*, unsigned, unsigned&) {
    if (own.key > 0) own.room = box.room(own.at, rises);
    return own;
}
inline void read_row(const Task& task, int row, int, Element (&out)[OWNED]) {
    std::copy_n(task.u + row * task.stride, task.size, out);
}
inline unsigned cluster_rank() { return 0; }
inline void cluster_barrier() {}

#endif

/// Slopes of the points of a thread, and on which side of zero and of its bounds beta is.
struct Points {
    static constexpr unsigned up = 1, low = 2, positive = 4, negative = 8;
    Real v[OWNED];
#if !FLAT
    Real diagonal[OWNED];
#endif
    unsigned char state[OWNED];

    __device__ __forceinline__ static unsigned char state_of(double beta, double lower, double upper) {
        return (beta < upper ? up : 0) | (beta > lower ? low : 0) | (beta > 0 ? positive : beta < 0 ? negative : 0);
    }
    __device__ __forceinline__ Real rise(int p, Real e) const { return state[p] & negative ? v[p] + e : v[p] - e; }
    __device__ __forceinline__ Real fall(int p, Real e) const { return state[p] & positive ? v[p] - e : v[p] + e; }
};

/// Curvature of a pair: the sum of both diagonal values and twice the element of U.
__device__ __forceinline__ float curvature(Real sum, Element u) {
    const float curve = static_cast<float>(sum + 2 * static_cast<Real>(UNIT) * static_cast<Real>(u));
    const float least = static_cast<float>(LEAST * (sum > 1 ? sum : 1));
    return curve > least ? curve : least;
}

/// The point of a group with the largest rise; `extra` holds minus the smallest fall.
__device__ __forceinline__ Best highest(const Task& task, const Points& own, int first, int from, int to, Real e) {
    Best best = {0, 0, first, 0, 0, 0, 0};
    EACH_POINT {
        const int t = first + p;
        if (t < from || t >= to) continue;
        if (own.state[p] & Points::low) {
            const unsigned low = ordered(static_cast<float>(-own.fall(p, e)));
            best.extra = low > best.extra ? low : best.extra;
        }
        if (!(own.state[p] & Points::up)) continue;
        const unsigned key = ordered(static_cast<float>(own.rise(p, e)));
        if (key > best.key) best.key = key, best.at = t, best.v = own.rise(p, e);
    }
    return best;
}
/// The partner of point i with the largest ascent.
__device__ __forceinline__ Best partner(const Task& task, const Points& own, int first, int from, int to, Real e,
                                        const Best& i, const Element (&row)[OWNED]) {
    Best best = {0, 0, first, 0, 0, 1, 0};
#if !FLAT
    const Real of_i = task.diagonal[i.at];
#endif
    EACH_POINT {
        const int t = first + p;
        if (t < from || t >= to || !(own.state[p] & Points::low)) continue;
        const float slope = static_cast<float>(i.v - own.fall(p, e));
        if (!(slope > 0)) continue;
#if FLAT
        const float curve = curvature(0, row[p]);
#else
        const float curve = curvature(of_i + own.diagonal[p], row[p]);
#endif
        const unsigned key = bits(slope * slope / curve) | 1u;
        if (key > best.key) best.key = key, best.at = t, best.v = own.fall(p, e), best.curve = curve;
    }
    return best;
}
/// Move beta of a point of this thread.
__device__ __forceinline__ void move(const Box& box, Points& own, int p, int t, double d, bool to_end) {
    const int at = t - box.first;
    const double before = box.beta[at], lower = box.lower[at], upper = box.upper[at];
    double beta = before + d;
    if (to_end) beta = box.kinked && (d > 0 ? before < 0 : before > 0) ? 0.0 : d > 0 ? upper : lower;
    box.beta[at] = beta;
    own.state[p] = Points::state_of(beta, lower, upper);
}

/// The box of a block, copied to shared memory in a cluster.
__device__ __forceinline__ Box open_box(const Task& task, int first) {
#if CLUSTER > 1
    extern __shared__ double memory[];
    constexpr int width = THREADS * POINTS;
    for (int k = THREAD; k < width && first + k < task.size; k += THREADS) {
        memory[k] = task.beta[first + k];
        memory[width + k] = task.lower[first + k];
        memory[2 * width + k] = task.upper[first + k];
    }
    __syncthreads();
    return {memory, memory + width, memory + 2 * width, first, task.e > 0};
#else
    return {task.beta, task.lower, task.upper, 0, task.e > 0};
#endif
}

/// Of two groups one is worked on until its violation has halved.
struct Turns {
    int group, quiet;
    double goal;
    bool begins;
};

__device__ __forceinline__ void solve(const Task task, Exchange* shared, unsigned (&phases)[2]) {
#ifdef __CUDACC__
    Points own;
    Element ui[OWNED], uj[OWNED];
#else
    static thread_local Points own;
    static thread_local Element ui[OWNED], uj[OWNED];
#endif
    const unsigned rank = cluster_rank();
    const int first = (static_cast<int>(rank) * THREADS + THREAD) * POINTS;
    const Real e = static_cast<Real>(task.e);
    EACH_POINT {
        const int t = first + p;
        const bool inside = t < task.size;
        own.v[p] = inside ? task.v[t] : 0;
#if !FLAT
        own.diagonal[p] = inside ? task.diagonal[t] : 0;
#endif
        own.state[p] = inside ? Points::state_of(task.beta[t], task.lower[t], task.upper[t]) : 0;
    }
    const Box box = open_box(task, static_cast<int>(rank) * THREADS * POINTS);
    const bool two = task.split < task.size;
    Turns turns = {0, 0, 0, true};
    double gap_of_first = 0, gap_of_second = 0;
    long long steps = 0;
    bool stuck = false;
    for (; steps < task.most;) {
        const int from = turns.group ? static_cast<int>(task.split) : 0;
        const int to = static_cast<int>(two && !turns.group ? task.split : task.size);
        const Best i = winner(task, box, highest(task, own, first, from, to, e), true, &shared[0], rank, phases[0]);
        const double gap =
            i.key > 0 && i.extra > 0 ? static_cast<double>(i.v) + static_cast<double>(unordered(i.extra)) : 0.0;
        if (turns.group)
            gap_of_second = gap;
        else
            gap_of_first = gap;
        if (turns.begins) turns.goal = two && 0.5 * gap > task.tol ? 0.5 * gap : task.tol, turns.begins = false;
        if (!(gap > turns.goal)) {
            turns.quiet = gap > task.tol ? 0 : turns.quiet | 1 << turns.group;
            if (!two || turns.quiet == 3) break;
            turns.group = 1 - turns.group, turns.begins = true;
            cluster_barrier();  // the next candidate goes to the same exchange
            continue;
        }
        turns.quiet = 0;
        read_row(task, i.at, first, ui);
        const Best j =
            winner(task, box, partner(task, own, first, from, to, e, i, ui), false, &shared[1], rank, phases[1]);
        if (j.key == 0) {
            stuck = true;
            break;
        }
        read_row(task, j.at, first, uj);
        const double wanted = static_cast<double>((i.v - j.v) / static_cast<Real>(j.curve));
        const double room = i.room < j.room ? i.room : j.room;
        const double d = wanted < room ? wanted : room;
        const Real change = static_cast<Real>(d * UNIT);
        EACH_POINT {
            const int t = first + p;
            own.v[p] -= change * (static_cast<Real>(uj[p]) - static_cast<Real>(ui[p]));
            if (t == i.at) move(box, own, p, t, d, d == i.room);
            if (t == j.at) move(box, own, p, t, -d, d == j.room);
        }
        ++steps;
        if (!(d > 0)) {  // rounding has eaten the step
            stuck = true;
            break;
        }
    }
    EACH_POINT if (first + p < task.size) {
        task.v[first + p] = own.v[p];
        if (CLUSTER > 1) task.beta[first + p] = box.beta[first + p - box.first];
    }
    if (first == 0) {
        task.result[0] = static_cast<double>(steps);
        task.result[1] = gap_of_first > gap_of_second ? gap_of_first : gap_of_second;
        task.result[2] = stuck;
    }
    cluster_barrier();
}

#ifndef __CUDACC__
}  // namespace
#endif

/// Each cluster solves every so many-th task.
#ifdef __CUDACC__
extern "C" __global__ void
#if CLUSTER > 1
__attribute__((cluster_dims(CLUSTER, 1, 1)))
#endif
__launch_bounds__(THREADS, 1) solve_all(const Task* tasks, int count)
#else
extern "C" void solve_all(const Task* tasks, int count)
#endif
{
    SHARED Exchange shared[2];
    unsigned phases[2] = {0, 0};
#if CLUSTER > 1
    if (THREAD < 2) begin_phases(&shared[THREAD].arrived);
    cluster_barrier();
#endif
    for (int k = BLOCK / CLUSTER; k < count; k += BLOCKS / CLUSTER) solve(tasks[k], shared, phases);
}
