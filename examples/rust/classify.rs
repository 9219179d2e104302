// Classifies a batch of handwritten digits from Rust, then shows what a wrong size is answered with. It needs rustc
// 1.63 and no crate:
//
//     ptc compile examples/digits/model.pt2 -o digits.so
//     rustc --edition 2021 examples/rust/classify.rs -o classify && ./classify ./digits.so
//
// The C interface comes first, then a safe wrapper around it (`Model`, `View`, `Tensor`), then the program.
use std::ffi::{CStr, CString, OsStr};
use std::marker::PhantomData;
use std::os::raw::{c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;
use std::{env, fmt, mem, ptr, slice};

/// What of ptc/ptc.h, dlpack/dlpack.h and dlfcn.h is used here, under the names that it has there. Structs are as in C,
/// field by field, whether or not each field is read.
#[allow(non_camel_case_types, non_upper_case_globals, dead_code)]
mod c {
    use std::os::raw::{c_char, c_int, c_void};

    /// Not an enum of Rust's, which must not get a value that it does not list.
    pub type ptc_status = c_int;
    pub const PTC_OK: ptc_status = 0;
    pub const PTC_ABI_VERSION: u32 = 1;
    pub const PTC_TENSOR_WRITTEN: u32 = 1;
    pub const kDLCPU: c_int = 1;
    pub const kDLInt: u8 = 0;
    pub const kDLFloat: u8 = 2;
    pub const RTLD_NOW: c_int = 2;

    #[repr(C)]
    pub struct DLDevice {
        pub device_type: c_int,
        pub device_id: c_int,
    }

    #[repr(C)]
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct DLDataType {
        pub code: u8,
        pub bits: u8,
        pub lanes: u16,
    }

    #[repr(C)]
    pub struct DLTensor {
        pub data: *mut c_void,
        pub device: DLDevice,
        pub ndim: c_int,
        pub dtype: DLDataType,
        pub shape: *mut i64,
        pub strides: *mut i64,
        pub byte_offset: u64,
    }

    #[repr(C)]
    pub struct DLManagedTensor {
        pub dl_tensor: DLTensor,
        pub manager_ctx: *mut c_void,
        pub deleter: unsafe extern "C" fn(*mut DLManagedTensor),
    }

    #[repr(C)]
    pub struct ptc_context {
        opaque: [u8; 0],
    }

    #[repr(C)]
    pub struct ptc_dim {
        pub text: *const c_char,
        pub min: i64,
        pub max: i64,
    }

    #[repr(C)]
    pub struct ptc_tensor {
        pub name: *const c_char,
        pub dtype: DLDataType,
        pub device: DLDevice,
        pub ndim: i32,
        pub flags: u32,
        pub dims: *const ptc_dim,
    }

    #[repr(C)]
    pub struct ptc_signature {
        pub model: *const c_char,
        pub compiler: *const c_char,
        pub target: *const c_char,
        pub inputs: *const ptc_tensor,
        pub outputs: *const ptc_tensor,
        pub states: *const ptc_tensor,
        pub symbols: *const c_void,
        pub input_count: i32,
        pub output_count: i32,
        pub state_count: i32,
        pub symbol_count: i32,
    }

    /// The beginning of the table, up to the last function that is called here: it grows at its end alone.
    #[repr(C)]
    pub struct ptc_api {
        pub abi_version: u32,
        pub size: u32,
        pub signature: unsafe extern "C" fn() -> *const ptc_signature,
        pub status_string: unsafe extern "C" fn(ptc_status) -> *const c_char,
        pub context_create: unsafe extern "C" fn(*mut *mut ptc_context) -> ptc_status,
        pub context_destroy: unsafe extern "C" fn(*mut ptc_context),
        pub last_error: unsafe extern "C" fn(*const ptc_context) -> *const c_char,
        pub call: unsafe extern "C" fn(
            context: *mut ptc_context,
            inputs: *const *const DLTensor,
            input_count: i32,
            outputs: *const *mut DLTensor,
            output_count: i32,
        ) -> ptc_status,
        pub call_new: unsafe extern "C" fn(
            context: *mut ptc_context,
            inputs: *const *const DLTensor,
            input_count: i32,
            outputs: *mut *mut DLManagedTensor,
            output_count: i32,
        ) -> ptc_status,
    }

    extern "C" {
        pub fn dlopen(path: *const c_char, mode: c_int) -> *mut c_void;
        pub fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
        pub fn dlclose(library: *mut c_void) -> c_int;
        pub fn dlerror() -> *mut c_char;
    }
}

/// What was refused, in the library's words.
#[derive(Debug)]
struct Error(String);

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

/// A copy of C's text.
unsafe fn text(text: *const c_char) -> String {
    CStr::from_ptr(text).to_string_lossy().into_owned()
}

/// C's array, which may be null where it is empty: a slice of Rust's may not. The caller says how long it is there.
unsafe fn array<'a, T>(first: *const T, count: usize) -> &'a [T] {
    if count == 0 {
        &[]
    } else {
        slice::from_raw_parts(first, count)
    }
}

/// An input or output as the signature has it: no other value of this type is made, so its pointers are right.
impl c::ptc_tensor {
    fn name(&self) -> String {
        unsafe { text(self.name) }
    }

    /// "8", or where a size is symbolic "2*s0 + 1".
    fn sizes(&self) -> Vec<String> {
        let dims = unsafe { array(self.dims, self.ndim as usize) };
        dims.iter().map(|dim| unsafe { text(dim.text) }).collect()
    }
}

/// A type that elements of tensors have. Unsafe, since memory is read as the type that a row of this table names.
unsafe trait Element {
    const TYPE: c::DLDataType;
}

unsafe impl Element for f32 {
    const TYPE: c::DLDataType = c::DLDataType { code: c::kDLFloat, bits: 32, lanes: 1 };
}

unsafe impl Element for i64 {
    const TYPE: c::DLDataType = c::DLDataType { code: c::kDLInt, bits: 64, lanes: 1 };
}

/// An input: elements of the caller's and their sizes, row-major.
struct View<'data> {
    data: *const c_void,
    dtype: c::DLDataType,
    shape: Vec<i64>,
    lifetime: PhantomData<&'data ()>,
}

impl<'data> View<'data> {
    fn new<T: Element>(data: &'data [T], shape: &[usize]) -> Result<View<'data>, Error> {
        let count = shape.iter().try_fold(1usize, |count, &size| count.checked_mul(size));
        if count != Some(data.len()) {
            return Err(Error(format!("a view of {} elements whose sizes are {:?}", data.len(), shape)));
        }
        let shape = shape.iter().map(|&size| size as i64).collect();
        Ok(View { data: data.as_ptr().cast(), dtype: T::TYPE, shape, lifetime: PhantomData })
    }

    /// Points into this view.
    fn tensor(&self) -> c::DLTensor {
        c::DLTensor {
            data: self.data as *mut c_void,
            device: c::DLDevice { device_type: c::kDLCPU, device_id: 0 },
            ndim: self.shape.len() as c_int,
            dtype: self.dtype,
            shape: self.shape.as_ptr() as *mut i64,
            strides: ptr::null_mut(),
            byte_offset: 0,
        }
    }
}

/// A result: memory of the library's, freed with this value. Its lifetime is the model's, whose code frees it.
struct Tensor<'model> {
    managed: *mut c::DLManagedTensor,
    lifetime: PhantomData<&'model Model>,
}

impl Tensor<'_> {
    fn tensor(&self) -> &c::DLTensor {
        unsafe { &(*self.managed).dl_tensor }
    }

    fn shape(&self) -> &[i64] {
        unsafe { array(self.tensor().shape, self.tensor().ndim as usize) }
    }

    /// The elements, row-major.
    fn values<T: Element>(&self) -> Result<&[T], Error> {
        let tensor = self.tensor();
        if tensor.dtype != T::TYPE || tensor.device.device_type != c::kDLCPU {
            return Err(Error(format!("a result of {:?}, read as {:?} of the host's", tensor.dtype, T::TYPE)));
        }
        let count = self.shape().iter().product::<i64>() as usize;
        let data = tensor.data.cast::<u8>().wrapping_add(tensor.byte_offset as usize);
        Ok(unsafe { array(data.cast(), count) })
    }
}

impl Drop for Tensor<'_> {
    fn drop(&mut self) {
        unsafe { ((*self.managed).deleter)(self.managed) }
    }
}

/// What dlopen has opened.
struct Library(*mut c_void);

impl Drop for Library {
    fn drop(&mut self) {
        unsafe { c::dlclose(self.0) };
    }
}

/// A compiled model with a context of its own.
struct Model {
    context: *mut c::ptc_context,
    api: &'static c::ptc_api, // both are there as long as the library is open
    signature: &'static c::ptc_signature,
    _library: Library, // the last field: it is closed behind the rest
}

// ptc.h lets threads call on one context at once, and keeps errors by thread. Its end must be alone, as a drop is.
unsafe impl Send for Model {}
unsafe impl Sync for Model {}

impl Model {
    /// Opens a library that `ptc compile` wrote.
    fn open(path: &OsStr) -> Result<Model, Error> {
        let name = path.to_string_lossy();
        let fail = |what: &str| Error(format!("{name}: {what}"));
        let path = CString::new(path.as_bytes()).map_err(|_| fail("a path with a zero in it"))?;
        unsafe {
            let opened = c::dlopen(path.as_ptr(), c::RTLD_NOW);
            if opened.is_null() {
                return Err(Error(text(c::dlerror())));
            }
            let library = Library(opened);
            let found = c::dlsym(opened, b"ptc_get_api\0".as_ptr().cast());
            if found.is_null() {
                return Err(fail("no library that ptc compiled"));
            }
            let get_api: unsafe extern "C" fn(u32) -> *const c::ptc_api = mem::transmute(found);
            let table = get_api(c::PTC_ABI_VERSION);
            if table.is_null() || ((*table).size as usize) < mem::size_of::<c::ptc_api>() {
                return Err(fail("speaks another version of the interface"));
            }
            let api = &*table;
            let signature = (api.signature)().as_ref().ok_or_else(|| fail("no memory for the signature"))?;
            let mut context = ptr::null_mut();
            if (api.context_create)(&mut context) != c::PTC_OK {
                return Err(fail(&text((api.last_error)(ptr::null()))));
            }
            Ok(Model { context, api, signature, _library: library })
        }
    }

    fn name(&self) -> String {
        unsafe { text(self.signature.model) }
    }

    fn inputs(&self) -> &[c::ptc_tensor] {
        unsafe { array(self.signature.inputs, self.signature.input_count as usize) }
    }

    fn outputs(&self) -> &[c::ptc_tensor] {
        unsafe { array(self.signature.outputs, self.signature.output_count as usize) }
    }

    /// Runs the model into tensors of its own.
    fn call(&self, inputs: &[View<'_>]) -> Result<Vec<Tensor<'_>>, Error> {
        if self.inputs().iter().any(|input| input.flags & c::PTC_TENSOR_WRITTEN != 0) {
            return Err(Error("the model writes to an input, and views are of memory that is shared".to_string()));
        }
        let tensors: Vec<c::DLTensor> = inputs.iter().map(View::tensor).collect();
        let given: Vec<*const c::DLTensor> = tensors.iter().map(|tensor| tensor as *const _).collect();
        let mut made = vec![ptr::null_mut(); self.outputs().len()];
        let (given_count, made_count) = (given.len() as i32, made.len() as i32);
        unsafe {
            let call = self.api.call_new;
            if call(self.context, given.as_ptr(), given_count, made.as_mut_ptr(), made_count) != c::PTC_OK {
                return Err(Error(text((self.api.last_error)(self.context))));
            }
        }
        Ok(made.into_iter().map(|managed| Tensor { managed, lifetime: PhantomData }).collect())
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        unsafe { (self.api.context_destroy)(self.context) }
    }
}

fn classify() -> Result<(), Error> {
    let path = env::args_os().nth(1).ok_or_else(|| Error("usage: classify ./digits.so".to_string()))?;
    let model = Model::open(&path)?;
    let (input, output) = (&model.inputs()[0], &model.outputs()[0]);
    println!("{}: {} -> {}", model.name(), input.name(), output.sizes().join(" "));

    // A one and a seven, drawn with strokes.
    let mut images = [0f32; 2 * 64];
    for row in 0..8 {
        images[row * 8 + 3..row * 8 + 5].fill(16.0);
    }
    images[64 + 1..64 + 7].fill(16.0);
    images[64 + 9..64 + 15].fill(16.0);
    for row in 2..8 {
        let left = 64 + row * 8 + 5 - row / 2;
        images[left..left + 2].fill(14.0);
    }
    let results = model.call(&[View::new(&images, &[2, 1, 8, 8])?])?;
    for (image, row) in results[0].values::<f32>()?.chunks(10).enumerate() {
        let best = (0..10).fold(0, |best, digit| if row[digit] > row[best] { digit } else { best });
        println!("image {image} is a {best}, with probability {}", row[best]);
    }

    if let Err(error) = model.call(&[View::new(&images, &[2, 1, 4, 16])?]) {
        println!("refused: {error}");
    }
    Ok(())
}

fn main() -> ExitCode {
    match classify() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
