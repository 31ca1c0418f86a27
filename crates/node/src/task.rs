//! Work that Node's own threads do, so that JavaScript's never waits for a disk.

use std::panic::{AssertUnwindSafe, catch_unwind};

use napi::bindgen_prelude::{AsyncTask, ToNapiValue, TypeName};
use napi::{Env, Error, Result, Task};

type Job<T> = Box<dyn FnOnce() -> Result<T> + Send>;

/// One piece of work; its promise is settled with what it gives back.
pub struct Work<T>(Option<Job<T>>);

impl<T> Work<T>
where
    T: ToNapiValue + TypeName + Send + 'static,
{
    /// Hands work to a thread.
    pub fn hand_over(job: impl FnOnce() -> Result<T> + Send + 'static) -> AsyncTask<Work<T>> {
        AsyncTask::new(Work(Some(Box::new(job))))
    }
}

impl<T> Task for Work<T>
where
    T: ToNapiValue + TypeName + Send + 'static,
{
    type Output = T;
    type JsValue = T;

    fn compute(&mut self) -> Result<T> {
        let job = self.0.take().ok_or_else(|| Error::from_reason("this work was done already"))?;
        // A panic here would be in a thread of C, and end the process.
        catch_unwind(AssertUnwindSafe(job)).unwrap_or_else(|_| Err(Error::from_reason("the addon panicked")))
    }

    fn resolve(&mut self, _: Env, output: T) -> Result<T> {
        Ok(output)
    }
}
