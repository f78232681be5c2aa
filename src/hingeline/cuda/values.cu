// Kernel values from blocks of dot products: stored as a working matrix, or multiplied and summed at once.
//
// The host defines: Value (of dot products), Element (of the matrix), KIND (0 RBF, 1 the dot product or a given value,
// 2 polynomial, 3 sigmoid), FORM (0: K, 1: -K, 2: 1 - K, 3: (1 - K) in units of 2^-16). Without CUDA this is C++ with
// one thread.
#ifdef __CUDACC__
#define ROWS_FROM static_cast<long long>(blockIdx.x)
#define ROWS_BY static_cast<long long>(gridDim.x)
#define COLUMNS_FROM static_cast<int>(threadIdx.x)
#define COLUMNS_BY static_cast<int>(blockDim.x)
#define KERNEL extern "C" __global__
#else
#include <cmath>
using namespace std;
#define ROWS_FROM 0ll
#define ROWS_BY 1ll
#define COLUMNS_FROM 0
#define COLUMNS_BY 1
#define KERNEL extern "C"
#define __device__
#define __forceinline__ inline
#endif

#ifndef __CUDACC__
namespace {  // several variants in one process must not share a name
#endif

/// Parameters of the kernel; `gamma` of an RBF kernel in units that suit exp2.
struct Parameters {
    double gamma, coef0;
    long long degree;
};

/// 1 - K of an RBF kernel, exact for near points, or K of another kernel.
__device__ __forceinline__ Value squared_distance(Value dot, Value left, Value right) {
    const Value d = left + right - 2 * dot;
    return d > 0 ? d : 0;
}
__device__ __forceinline__ Value whole_power(Value x, long long degree) {
    Value out = 1;
    for (; degree > 0; degree /= 2, x *= x)
        if (degree & 1) out *= x;
    return out;
}
__device__ __forceinline__ Value kernel_value(const Parameters& k, Value dot, Value left, Value right) {
    const Value gamma = static_cast<Value>(k.gamma), coef0 = static_cast<Value>(k.coef0);
    if (KIND == 0) return exp2(-gamma * squared_distance(dot, left, right));
    if (KIND == 1) return dot;
    if (KIND == 2) return whole_power(gamma * dot + coef0, k.degree);
    return tanh(gamma * dot + coef0);
}
/// An element of the matrix of a working set, in its form.
__device__ __forceinline__ Element element(const Parameters& k, Value dot, Value left, Value right) {
    constexpr Value ln2 = static_cast<Value>(0.69314718055994530942);
    if (FORM < 2) {
        const Value value = kernel_value(k, dot, left, right);
        return static_cast<Element>(FORM == 1 ? -value : value);
    }
    const Value lack = -expm1(-static_cast<Value>(k.gamma) * ln2 * squared_distance(dot, left, right));
    if (FORM == 2) return static_cast<Element>(lack);
    const Value steps = lack * 65536 + static_cast<Value>(0.5);
    return static_cast<Element>(steps < 65535 ? steps : 65535);
}

#ifndef __CUDACC__
}  // namespace
#endif

/// u[r][c] for a block of `rows` x `columns` dot products; `first` is the number of its first row. `diagonal`: the
/// element in column `first` + r.
KERNEL void place(double gamma, double coef0, long long degree, const Value* dots, const Value* left, const Value* right, Element* u,
                  const Element* diagonal, long long rows, int columns, long long stride, long long first) {
    const Parameters k = {gamma, coef0, degree};
    for (long long r = ROWS_FROM; r < rows; r += ROWS_BY)
        for (int c = COLUMNS_FROM; c < columns; c += COLUMNS_BY)
            u[(first + r) * stride + c] =
                c == first + r ? diagonal[c] : element(k, dots[r * columns + c], left[r], right[c]);
}

/// out[r] += sum over c of coef[c] K(r, c), in double. A block takes eight rows at a time: they share `right` and
/// `coef`.
KERNEL void weigh(double gamma, double coef0, long long degree, const Value* dots, const Value* left, const Value* right, const double* coef,
                  double* out, long long rows, int columns) {
    const Parameters k = {gamma, coef0, degree};
    constexpr int together = 8;
#ifdef __CUDACC__
    __shared__ double parts[together][32];
#endif
    for (long long from = ROWS_FROM * together; from < rows; from += ROWS_BY * together) {
        const int count = static_cast<int>(rows - from < together ? rows - from : together);
        double sums[together] = {};
        for (int c = COLUMNS_FROM; c < columns; c += COLUMNS_BY) {
            const Value of_column = right[c];
            const double weight = coef[c];
#ifdef __CUDACC__
#pragma unroll
#endif
            for (int r = 0; r < together; ++r)
                if (r < count)
                    sums[r] += weight * static_cast<double>(
                                            kernel_value(k, dots[(from + r) * columns + c], left[from + r], of_column));
        }
#ifdef __CUDACC__
        const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
#pragma unroll
        for (int r = 0; r < together; ++r) {
            for (int step = 16; step > 0; step /= 2) sums[r] += __shfl_down_sync(~0u, sums[r], step);
            if (lane == 0) parts[r][warp] = sums[r];
        }
        __syncthreads();
        if (threadIdx.x < count) {
            double sum = 0;
            for (int w = 0; w < static_cast<int>(blockDim.x) / 32; ++w) sum += parts[threadIdx.x][w];
            out[from + threadIdx.x] += sum;
        }
        __syncthreads();
#else
        for (int r = 0; r < count; ++r) out[from + r] += sums[r];
#endif
    }
}
