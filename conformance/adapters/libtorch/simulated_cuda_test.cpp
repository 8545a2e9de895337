// What libtorch does on simulated CUDA without its engine.
#include <ATen/ATen.h>
#include <c10/core/StreamGuard.h>
#include <gtest/gtest.h>

#include "conformance/adapters/libtorch/simulated_cuda.h"
#include "reference_engine/device/simulated_runtime.h"

namespace gradcts::libtorch {
namespace {

namespace ref = gradcts::reference;

class Reading : public ::testing::Test {
 protected:
  Reading() { ref::restart_access_checks(); }

  // A seven that is made on the one stream.
  at::Tensor seven() const {
    const c10::StreamGuard guard(one_);
    return at::full({}, 3, at::device(at::kCUDA).dtype(at::kDouble)) + 4;
  }
  double read_on(c10::Stream stream, const at::Tensor& tensor) const {
    const c10::StreamGuard guard(stream);
    return tensor.item<double>();
  }

  const c10::Stream one_ = cuda_stream(ref::make_stream(ref::Device{sim, 0}));
  const c10::Stream two_ = cuda_stream(ref::make_stream(ref::Device{sim, 0}));
};

TEST_F(Reading, OnTheStreamThatWroteIsInOrder) {
  EXPECT_EQ(read_on(one_, seven()), 7);
  EXPECT_TRUE(ref::unordered_accesses().empty());
}

TEST_F(Reading, OnAnotherStreamNeedsAWait) {
  const at::Tensor tensor = seven();
  read_on(two_, tensor);
  const auto reports = ref::unordered_accesses();
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].access.kind, ref::DeviceAccess::Kind::read);
  EXPECT_EQ(reports[0].access.work, "read of a number");
  EXPECT_EQ(reports[0].earlier.work, "aten::add");
}

TEST_F(Reading, AfterAWaitOnAnotherStreamIsInOrder) {
  const at::Tensor tensor = seven();
  ref::wait_stream(simulated(two_), simulated(one_));
  EXPECT_EQ(read_on(two_, tensor), 7);
  EXPECT_TRUE(ref::unordered_accesses().empty());
}

}  // namespace
}  // namespace gradcts::libtorch
