// The kernel matrix of a changing set of examples has the bits of Gram, for any changes and any budget.
#include "check.hpp"
#include "data.hpp"
#include "hingeline/kernel/self_gram.hpp"

namespace hingeline {
namespace {

using namespace testing;

template <class T> struct Chosen {
    Index n, d;
    Array<T> x;
    Array<T> k;
    Rows<T> rows;
    std::unique_ptr<Gram<T>> gram;
    Chosen(Index n_, Index d_, double density, std::uint64_t seed) : n(n_), d(d_) {
        Random random(seed);
        x = random_values<T>(random, n, d, density);
        rows = dense_view(x, n, d);
        gram = std::make_unique<Gram<T>>(Kernel{KernelKind::rbf, 0.6, 0.0, 3}, rows, 1u << 20);
        k = kernel_values(*gram, Ids::run(0, n), Ids::run(0, n));
    }
};

/// Row p is that of the matrix, and zero up to the next multiple of `pass_step`.
template <class T> void check_row(const Chosen<T>& p, const Array<Index>& ids, Index at, const T* row) {
    const Index n = ids.size();
    bool same = true, zero = true;
    for (Index j = 0; j < n; ++j) same = same && same_bits(row[j], p.k[ids[at] * p.n + ids[j]]);
    for (Index j = n; j % pass_step; ++j) zero = zero && row[j] == 0;
    CHECK(same, at, n);
    CHECK(zero, at, n);
}

template <class T> void random_sequence(const Chosen<T>& p, std::size_t bytes, int threads, std::uint64_t seed) {
    Random random(seed);
    SelfGram<T> self(bytes);
    std::vector<Scratch<T>> scratch(threads);
    Array<Index> ids;
    for (int step = 0; step < 50; ++step) {
        switch (below(random, 6)) {
            case 0:
            case 1:
            case 2: {
                const Index fresh = 1 + below(random, self.block());
                for (Index i = 0; i < fresh; ++i) ids.push_back(below(random, p.n));
                CHECK(self.append(*p.gram, Ids::of(ids), fresh, scratch));
                break;
            }
            case 3: {
                Array<char> keep;
                const Index share = 1 + below(random, 5);
                for (Index i = 0; i < ids.size(); ++i) keep.push_back(below(random, share + 1) > 0);
                const Closing c = close_up(keep);
                for (const auto& [from, to] : c.moves) ids[to] = ids[from];
                ids.resize(c.size);
                self.close(keep, c);
                break;
            }
            case 4:
                if (below(random, 4) == 0) CHECK(self.restore(*p.gram, Ids::of(ids), scratch));
                break;
            case 5:
                if (below(random, 4) == 0) self.allow(below(random, 2) ? bytes : bytes / 3);
        }
        CHECK(self.size() == ids.size());
        if (ids.empty()) continue;
        for (int look = 0; look < 6; ++look) {
            // Two rows stay while both are in use.
            const Index a = below(random, self.size()), b = below(random, self.size());
            const T* one = self.row(a, *p.gram, Ids::of(ids), scratch);
            const T* other = self.row(b, *p.gram, Ids::of(ids), scratch);
            check_row(p, ids, a, one);
            check_row(p, ids, b, other);
        }
        Index held = 0;
        for (Index t = 0; t < self.size(); ++t)
            if (const T* row = self.find(t)) ++held, check_row(p, ids, t, row);
        CHECK(held == self.n_held());
    }
}

template <class T> void all_sequences() {
    const Chosen<T> dense(300, 5, 1.0, 1), sparse(300, 40, 0.15, 2);
    for (const Chosen<T>* p : {&dense, &sparse})
        for (const std::size_t bytes :
             {std::size_t{0}, std::size_t{20'000}, std::size_t{300'000}, std::size_t{1} << 28})
            for (std::uint64_t seed = 0; seed < 4; ++seed)
                random_sequence(*p, bytes, 1 + static_cast<int>(seed % 2), seed);
}

CASE(random_sequences_float) { all_sequences<float>(); }
CASE(random_sequences_double) { all_sequences<double>(); }

CASE(what_fits_is_computed_once) {
    const Chosen<double> p(300, 3, 1.0, 3);
    for (const std::size_t bytes : {std::size_t{1} << 28, std::size_t{50'000}}) {
        SelfGram<double> self(bytes);
        std::vector<Scratch<double>> scratch(1);
        Array<Index> ids;
        while (ids.size() < 250) {
            const Index fresh = std::min<Index>(self.block(), 10);
            for (Index i = 0; i < fresh; ++i) ids.push_back(ids.size());
            CHECK(self.append(*p.gram, Ids::of(ids), fresh, scratch));
            self.row(0, *p.gram, Ids::of(ids), scratch);
        }
        for (Index t = 0; t < self.size(); ++t) check_row(p, ids, t, self.row(t, *p.gram, Ids::of(ids), scratch));
        const bool all = bytes > 1'000'000;
        CHECK((self.take_recomputed() == 0) == all, bytes, self.take_recomputed());
        CHECK((self.n_held() == self.size()) == all, bytes, self.n_held());
        CHECK(all || self.bytes() <= bytes + 8 * 300 * 5, self.bytes());
        CHECK(self.find(0) != nullptr || !all);
    }
}

CASE(memory_is_a_limit) {
    const Chosen<float> p(400, 3, 1.0, 4);
    const std::size_t bytes = 100'000;
    SelfGram<float> self(bytes);
    std::vector<Scratch<float>> scratch(1);
    Array<Index> ids;
    Random random(5);
    for (int step = 0; step < 200; ++step) {
        const Index fresh = std::min<Index>(self.block(), 1 + below(random, 20));
        for (Index i = 0; i < fresh; ++i) ids.push_back(below(random, p.n));
        CHECK(self.append(*p.gram, Ids::of(ids), fresh, scratch));
        const std::size_t few = 4 * 4 * (ids.size() + 2 * pass_step);  // what is held in any case
        CHECK(self.bytes() <= std::max(bytes, few) + few, step, self.bytes(), ids.size());
        if (ids.size() < 350) continue;
        Array<char> keep;
        for (Index i = 0; i < ids.size(); ++i) keep.push_back(i % 3 == 0);
        const Closing c = close_up(keep);
        for (const auto& [from, to] : c.moves) ids[to] = ids[from];
        ids.resize(c.size);
        self.close(keep, c);
    }
    self.allow(1000);
    CHECK(self.n_held() <= 4 && self.size() == ids.size());
    self.clear();
    CHECK(self.size() == 0 && self.n_held() == 0 && self.bytes() == 0);
}

CASE(trouble_leaves_it_unchanged) {
    const Chosen<double> p(300, 3, 1.0, 6);
    for (const std::size_t bytes : {std::size_t{1} << 28, std::size_t{60'000}})
        for (const bool fails : {false, true})
            for (Index when = 1; when <= 4; ++when) {
                SelfGram<double> self(bytes);
                std::vector<Scratch<double>> scratch(1);
                Array<Index> ids;
                for (int block = 0; block < 4; ++block) {
                    const Index fresh = std::min<Index>(self.block(), 30);
                    for (Index i = 0; i < fresh; ++i) ids.push_back(ids.size());
                    CHECK(self.append(*p.gram, Ids::of(ids), fresh, scratch));
                }
                const auto before = ids;
                const Index fresh = std::min<Index>(self.block(), 20);
                for (Index i = 0; i < fresh; ++i) ids.push_back(200 + i);
                const Troubled<Gram<double>> source{*p.gram, when, fails};
                bool done = true;
                try {
                    done = self.append(source, Ids::of(ids), fresh, scratch);
                } catch (const std::runtime_error&) {
                    done = false;
                }
                CHECK(done == (source.calls < when));
                if (!done) ids = before;
                CHECK(self.size() == ids.size());
                for (Index t = 0; t < self.size(); ++t)
                    check_row(p, ids, t, self.row(t, *p.gram, Ids::of(ids), scratch));
                // A row that cannot be had, and a restoration that cannot.
                self.allow(0);
                const Troubled<Gram<double>> again{*p.gram, 1, fails};
                Index missing = 0;
                while (missing < self.size() && self.find(missing)) ++missing;
                bool had = true;
                try {
                    had = self.row(missing, again, Ids::of(ids), scratch) != nullptr;
                } catch (const std::runtime_error&) {
                    had = false;
                }
                CHECK(!had);
                for (Index t = 0; t < self.size(); ++t)
                    check_row(p, ids, t, self.row(t, *p.gram, Ids::of(ids), scratch));
                self.allow(bytes);
                const Troubled<Gram<double>> last{*p.gram, 1, false};
                CHECK(!self.restore(last, Ids::of(ids), scratch) && self.size() == 0);
                CHECK(self.restore(*p.gram, Ids::of(ids), scratch));
                for (Index t = 0; t < self.size(); ++t)
                    check_row(p, ids, t, self.row(t, *p.gram, Ids::of(ids), scratch));
            }
}

}  // namespace
}  // namespace hingeline
