import pytest

# The contract is no test module of its own, so pytest would leave its assertions bare.
pytest.register_assert_rewrite("tests.driver.contract")
